// A plot of time against files, both axes by powers of two, as SVG without any library.
export interface GrowthPoint {
  files: number
  /** Milliseconds. */
  floor: number
  survey: number
}

const width = 640
const height = 400
const margin = 56

export function drawGrowth(name: string, points: readonly GrowthPoint[]): string {
  const times = points.flatMap(({ floor, survey }) => [floor, survey])
  const across = scale(
    points.map(({ files }) => files),
    margin,
    width - 16,
  )
  const up = scale(times, height - margin, 32)
  const line = (pick: (point: GrowthPoint) => number) =>
    points.map((point) => `${across(point.files)},${up(pick(point))}`).join(' ')
  const first = points[0]!
  const steps = powers(Math.min(...times), Math.max(...times))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<text x="${margin}" y="20">Survey of ${plain(name)}: milliseconds against files</text>`,
    ...steps.map(
      (value) =>
        `<line x1="${margin}" x2="${width - 16}" y1="${up(value)}" y2="${up(value)}" stroke="#ddd"/><text x="8" y="${up(value) + 4}">${value}</text>`,
    ),
    ...points.map(({ files }) => `<text x="${across(files) - 14}" y="${height - margin + 20}">${files}</text>`),
    `<polyline points="${points.map(({ files }) => `${across(files)},${up((first.survey * files) / first.files)}`).join(' ')}" fill="none" stroke="#999" stroke-dasharray="4"/>`,
    `<polyline points="${line(({ floor }) => floor)}" fill="none" stroke="#888" stroke-width="2"/>`,
    `<polyline points="${line(({ survey }) => survey)}" fill="none" stroke="#06c" stroke-width="2"/>`,
    `<text x="${margin}" y="${height - 12}">blue: survey · grey: reading every file once · dashed: linear from the first point</text>`,
    '</svg>',
    '',
  ].join('\n')
}

/** Logarithmic, kept inside the picture. */
function scale(values: readonly number[], from: number, to: number): (value: number) => number {
  const low = Math.log2(Math.min(...values))
  const high = Math.max(Math.log2(Math.max(...values)), low + 0.1)
  return (value) => Math.round(from + ((Math.min(high, Math.log2(value)) - low) / (high - low)) * (to - from))
}

function powers(low: number, high: number): number[] {
  const first = Math.ceil(Math.log2(low))
  return Array.from(
    { length: Math.max(0, Math.floor(Math.log2(high)) - first + 1) },
    (_, index) => 2 ** (first + index),
  )
}

const plain = (text: string) => text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

// Draws panels of lines on logarithmic axes, as SVG.
export interface Series {
  name: string
  points: [x: number, y: number][]
}

interface Panel {
  title: string
  series: Series[]
}

const size = { width: 380, height: 260, left: 52, right: 14, top: 34, bottom: 34 }
const colours = ['#0969da', '#bc4c00']

export function drawGrowth(panels: readonly Panel[]): string {
  const columns = 2
  const height = Math.ceil(panels.length / columns) * size.height
  const drawn = panels.map((panel, at) => {
    const place = `translate(${(at % columns) * size.width} ${Math.floor(at / columns) * size.height})`
    return `<g transform="${place}">\n${drawPanel(panel)}\n</g>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${columns * size.width} ${height}" font-family="sans-serif" font-size="11" role="img">`,
    '<title>How time, storage and tokens grow</title>',
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...drawn,
    '</svg>\n',
  ].join('\n')
}

function drawPanel({ title, series }: Panel): string {
  const points = series.flatMap((one) => one.points)
  const x = scaleOf(
    points.map(([value]) => value),
    size.left,
    size.width - size.right,
  )
  const y = scaleOf(
    points.map(([, value]) => value),
    size.height - size.bottom,
    size.top,
  )
  const bottom = size.height - size.bottom
  return [
    `<text x="${size.left}" y="18" font-size="13" font-weight="bold">${title}</text>`,
    ...x.ticks.map((tick) => `<text x="${x.at(tick)}" y="${bottom + 16}" text-anchor="middle">${short(tick)}</text>`),
    ...y.ticks.map(
      (tick) =>
        `<path d="M${size.left} ${y.at(tick)}H${size.width - size.right}" stroke="#d0d7de"/><text x="${size.left - 6}" y="${y.at(tick) + 4}" text-anchor="end">${short(tick)}</text>`,
    ),
    ...series.map(({ name, points: own }, at) => {
      const line = own.map(([a, b]) => `${x.at(a)},${y.at(b)}`).join(' ')
      const [, last = 0] = own.at(-1) ?? []
      const label = `<text x="${size.width - size.right}" y="${y.at(last) - 6}" text-anchor="end" fill="${colours[at]}">${name}</text>`
      return `<polyline points="${line}" fill="none" stroke="${colours[at]}" stroke-width="2"/>${label}`
    }),
  ].join('\n')
}

/** Ticks are powers of ten around all values. */
function scaleOf(values: readonly number[], from: number, to: number) {
  const powers = values.filter((value) => value > 0).map(Math.log10)
  const low = Math.floor(Math.min(...powers))
  const high = Math.max(low + 1, Math.ceil(Math.max(...powers)))
  const share = (value: number) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)
  return {
    ticks: Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)),
    at: (value: number) => Math.round(from + share(value) * (to - from)),
  }
}

const short = (value: number) => (value < 1_000 ? String(Number(value.toPrecision(1))) : `${value / 1_000}k`)

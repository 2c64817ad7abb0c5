// What the measured changes mean: survivors that no list explains, listed ones that a test notices, and the figures by file and by area.
import type { GuardFile } from './guard-files.js'
import type { Mutant } from './make-mutants.js'

/** A change that no test notices, and why none can. */
export interface AcceptedSurvivor {
  /** The line, without its indentation. */
  code: string
  /** `was → becomes` */
  change: string
  why: string
}

export type AcceptedSurvivors = Readonly<Record<string, readonly AcceptedSurvivor[]>>

export interface Figures {
  changes: number
  noticed: number
}

export type MeasuredFiles = Record<string, Figures>

export const changeOf = ({ was, becomes }: Pick<Mutant, 'was' | 'becomes'>) => `${was} → ${becomes}`

type Change = Pick<AcceptedSurvivor, 'code' | 'change'>

/** Each entry of the list stands for one survivor. */
export function compareSurvivors(
  survivors: readonly Mutant[],
  accepted: readonly AcceptedSurvivor[],
): { unexplained: Mutant[]; noticed: AcceptedSurvivor[] } {
  const left = [...accepted]
  const isSame = (one: Change, other: Change) => one.code === other.code && one.change === other.change
  const unexplained = survivors.filter((survivor) => {
    const index = left.findIndex((one) => isSame(one, { code: survivor.code, change: changeOf(survivor) }))
    if (index >= 0) left.splice(index, 1)
    return index < 0
  })
  return { unexplained, noticed: left }
}

const percent = ({ changes, noticed }: Figures) => `${((noticed / changes) * 100).toFixed(1)} %`

const sum = (figures: readonly Figures[]): Figures => ({
  changes: figures.reduce((all, { changes }) => all + changes, 0),
  noticed: figures.reduce((all, { noticed }) => all + noticed, 0),
})

const row = (name: string, figures: Figures) =>
  `| ${name} | ${figures.changes} | ${figures.noticed} | ${percent(figures)} |`

/** A row for each area, and one for each of its files. Files that were never measured are left out. */
export function figuresTable(areas: Readonly<Record<string, readonly GuardFile[]>>, measured: MeasuredFiles): string {
  const rows = Object.entries(areas).flatMap(([area, files]) => {
    const known = files.filter(({ file }) => measured[file] !== undefined)
    const ofFiles = known.map(({ file }) => row(`\`${file}\``, measured[file]!))
    return known.length === 0 ? [] : [row(`**${area}**`, sum(known.map(({ file }) => measured[file]!))), ...ofFiles]
  })
  return [
    '| guard, below `src` | changes | noticed | |',
    '| --- | --- | --- | --- |',
    ...rows,
    row('**all**', sum(Object.values(measured))),
  ].join('\n')
}

/** The part of a document between two marks. */
export function replaceBetween(text: string, mark: string, content: string): string {
  const [start, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`The document has no ${start} before ${end}.`)
  return `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`
}

// A correction: what a person with write permission says about an answer or a summary, with the cited lines that it is about. It is data, and it
// holds for a commit as long as those lines are there.
import * as read from '../../util/decode.js'
import type { CompletedAnswer } from '../answer.js'
import { digestLines } from '../citations/digest-lines.js'
import { HandoffError } from '../errors.js'
import { decodeVersioned } from '../handoff-record.js'
import { cleanText } from '../markdown/clean-text.js'
import type { Relocation } from '../sandbox-protocol-decoder.js'
import { placeKey } from '../summary/keep-statements.js'
import { findMentions } from '../summary/path-mentions.js'
import { type Evidence, evidenceShape, rows } from '../summary/summary-record.js'

export const correctionLimits = { text: 1_000, corrections: 200, places: 60, bytes: 4_000_000 } as const

const shape = read.object({
  /** The comment that wrote it: `issue-123`. A repeated delivery writes the same correction. */
  id: read.pattern(/^[a-z]+-\d{1,16}$/, 'the id of a correction'),
  /** When it was written, and the login of the person who wrote it. */
  at: read.time,
  by: read.string(200),
  text: read.string(correctionLimits.text),
  /** The answer that it is about; absent if it is about the summary. */
  answer: read.optional(read.pattern(/^[0-9a-f]{32}$/, 'an answer id')),
  /** The git host's number of the repository: a name can be reused by another one. */
  repositoryId: read.optional(read.string(40)),
  /** The commit that the places are of. */
  commit: read.objectId,
  places: read.array(evidenceShape, correctionLimits.places),
})

export type Correction = read.Decoded<typeof shape>

/** What of it is shown to people. */
export type ShownCorrection = Omit<Correction, 'places' | 'repositoryId'> & {
  places: readonly Pick<Evidence, 'path' | 'from' | 'to'>[]
}

const list = read.array(shape, correctionLimits.corrections)

const held = read.object({
  version: read.oneOf(1),
  corrections: list,
  /** Corrections whose lines the run's commit does not have. */
  ended: read.array(read.string(100), correctionLimits.corrections),
})

/** Corrections as they hold for one run. */
export type HeldCorrections = Omit<read.Decoded<typeof held>, 'version'>

/** Throws `corrupt` or `unknown-version`. */
export const decodeCorrections = (bytes: Uint8Array): HeldCorrections =>
  decodeVersioned(bytes, held, 'the list of corrections')

/** One correction per line. */
export function encodeCorrections({ corrections, ended }: HeldCorrections): Uint8Array {
  const text = `{"version":1,"ended":${JSON.stringify(ended)},"corrections":${rows(corrections)}}\n`
  return new TextEncoder().encode(text)
}

// ── the command ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface CorrectCommand {
  text: string
  /** Takes corrections back instead. */
  remove: boolean
  /** The id of the comment that is corrected, where the command begins with a link to it. */
  comment?: number
}

const command = /^ {0,3}\/correct(?=\s|$)/i
const option = /^(?:--|—)remove(?=\s|$)/i
const link = /^https?:\/\/\S{1,500}#(?:issuecomment-|discussion_r|discussioncomment-)(\d{1,16})(?=\s|$)/

/** Null for a comment that does not begin with `/correct`. */
export function parseCorrectCommand(body: string): CorrectCommand | null {
  const text = cleanText(body.slice(0, 100_000))
  const start = command.exec(text)
  if (!start) return null
  let rest = text.slice(start[0].length).trim()
  const remove = option.exec(rest)
  if (remove) rest = rest.slice(remove[0].length).trim()
  const linked = link.exec(rest)
  if (linked) rest = rest.slice(linked[0].length).trim()
  return { text: rest, remove: remove !== null, ...(linked ? { comment: Number(linked[1]) } : {}) }
}

export function requireText(text: string): string {
  if (text === '')
    throw new HandoffError('invalid-input', 'The correction is empty.', {
      next: 'Write /correct and then what is right, in a sentence or two.',
    })
  if (text.length > correctionLimits.text)
    throw new HandoffError(
      'invalid-input',
      `The correction has ${text.length} characters; at most ${correctionLimits.text} are taken.`,
      { next: 'Say it in a few sentences.' },
    )
  return text
}

// ── its lines ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The verified citations of an answer's own commit. Old answers have their lines, from which the digest is made. */
export function evidenceOf({ commit, citations, cited = [] }: CompletedAnswer): Evidence[] {
  return citations.flatMap(({ verified, path, from, to, blob, digest, ...rest }) => {
    if (!verified || (rest.commit ?? commit) !== commit) return []
    if (blob !== undefined && digest !== undefined) return [{ path, from, to, blob, digest }]
    const piece = cited.find((one) => one.path === path && one.from <= from && to < one.from + one.lines.length)
    if (piece === undefined) return []
    return [
      {
        path,
        from,
        to,
        blob: piece.blob,
        digest: digestLines(piece.lines.slice(from - piece.from, to - piece.from + 1)),
      },
    ]
  })
}

/** Whether it is about a line that is cited. */
export const isAbout = ({ places }: Pick<ShownCorrection, 'places'>, cited: Pick<Evidence, 'path' | 'from' | 'to'>) =>
  places.some(({ path, from, to }) => path === cited.path && from <= cited.to && cited.from <= to)

/** The cited places that a text names: `src/a.ts:10-12`, or one line of them. */
export function namedPlaces(text: string, places: readonly Evidence[]): Evidence[] {
  const named = findMentions(text)
  return places.filter(({ path, from, to }) =>
    named.some((one) => one.path === path && one.line !== undefined && one.line <= to && from <= (one.to ?? one.line)),
  )
}

/** Corrections at a commit whose lines Sandbox A looked for. One that lost a line has ended there. */
export function keepCorrections(
  corrections: readonly Correction[],
  relocations: readonly Relocation[],
  commit: string,
): HeldCorrections {
  const found = new Map(relocations.map((relocation) => [placeKey(relocation), relocation.now]))
  const result: HeldCorrections = { corrections: [], ended: [] }
  for (const correction of corrections) {
    const places = correction.places.flatMap((place) => {
      const now = correction.commit === commit ? place : found.get(placeKey(place))
      return now ? [{ ...now, digest: place.digest }] : []
    })
    if (places.length === correction.places.length) result.corrections.push({ ...correction, commit, places })
    else result.ended.push(correction.id)
  }
  return result
}

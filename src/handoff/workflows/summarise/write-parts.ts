// Has the model write the missing parts of a draft: leaves first, then the parts that combine them. Every text is checked against the commit
// before another request uses it.

import { cutText } from '../../domain/markdown/clean-text.js'
import { quote } from '../../domain/run.js'
import { cleanModelText } from '../../domain/summary/clean-model-text.js'
import { type PathIndex, withoutPaths } from '../../domain/summary/path-index.js'
import { insertPlaceholders, newSentences, restorePlaceholders } from '../../domain/summary/placeholders.js'
import type { RequestSizes } from '../../domain/summary/request-sizes.js'
import type { CachedPart } from '../../domain/summary/summary-cache.js'
import { mapSections } from '../../domain/summary/summary-document.js'
import { childrenOf, type Draft, type LeafWork } from '../../domain/summary/summary-draft.js'
import {
  type CombineRequest,
  combineMessages,
  type DescribedPart,
  type Messages,
  partMessages,
  type ShownFile,
} from '../../domain/summary/summary-prompt.js'
import { restoreForgotten } from '../../domain/summary/update-sections.js'
import { verifyPaths } from '../../domain/summary/verify-paths.js'
import type { ModelQueue } from './model-queue.js'

export interface Writing {
  queue: ModelQueue
  sizes: RequestSizes
  draft: Draft
  pathIndex: PathIndex
  /** Texts that an earlier attempt paid for, by key. */
  paid: ReadonlyMap<string, string>
  /** Parts whose text is finished. */
  done: Set<number>
  /** The former texts of the parts that changed. */
  dirty: Map<number, string>
  /** Schedules a checkpoint. */
  save: () => void
  notice: (text: string) => void
}

/** Characters of one text. A service may ignore the limit on its reply. */
const longestText = 8_000

/** The model's text about a part, cleaned and with its paths verified. */
function checked(text: string, pathIndex: PathIndex): string {
  return cleanModelText(verifyPaths(cleanModelText(cutText(text, longestText)), pathIndex).markdown)
}

function accept(writing: Writing, part: CachedPart, text: string): void {
  if (text !== part.text) changed(writing, part)
  part.text = text
  writing.done.add(part.id)
  writing.save()
}

function changed({ dirty }: Writing, part: CachedPart): void {
  if (!dirty.has(part.id)) dirty.set(part.id, part.text)
}

/** What the request for the parent has to show of a changed part. */
export function changesToReport({ dirty }: Writing, { id, directory, text }: CachedPart): DescribedPart {
  const news = newSentences(dirty.get(id) ?? '', text)
  return news === '' || news.length >= text.length * 0.9
    ? { directory, text }
    : { directory, text: news, onlyNew: true }
}

// ── leaves ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function writeLeaf(writing: Writing, work: LeafWork): Promise<void> {
  const { part } = work
  const paid = writing.paid.get(part.key)
  if (paid !== undefined) return accept(writing, part, paid)
  const text = work.change ? await changeLeaf(writing, work, work.change.files) : await describeLeaf(writing, work)
  if (text === undefined || text === '') return markLeftOut(writing, work)
  accept(writing, part, text)
}

/** The model wrote no text: the files count as left out, and every sentence that names them is removed. */
function markLeftOut(writing: Writing, work: LeafWork): void {
  const { draft, pathIndex } = writing
  const paths = new Set((work.change ? work.change.files : work.files).map((file) => file.path))
  for (const path of paths) {
    const { part: _part, ...entry } = draft.files.get(path)!
    draft.files.set(path, { ...entry, leftOut: true })
  }
  const without = withoutPaths(pathIndex, paths)
  for (let part: CachedPart | undefined = work.part; part; part = draft.parts.get(part.parent ?? -1)) {
    const { markdown } = verifyPaths(part.text, without)
    if (markdown !== part.text) changed(writing, part)
    part.text = markdown
  }
  if (draft.sections) draft.sections = mapSections(draft.sections, (text) => verifyPaths(text, without).markdown)
}

async function describeLeaf(writing: Writing, { part, files }: LeafWork): Promise<string | undefined> {
  const texts = await describe(writing, files, true)
  return texts && joinTexts(writing, part.directory, texts)
}

/** One text for each request. Undefined if the budget has no room for the first. */
async function describe(writing: Writing, files: readonly ShownFile[], again: boolean): Promise<string[] | undefined> {
  const { queue, sizes } = writing
  const messages = partMessages({ files })
  const halves = splitInHalf(files)
  if (queue.size(messages) > sizes.part.input) {
    return halves ? describeBoth(writing, halves, again) : describeOneLine(writing, files)
  }
  const reply = await queue.ask({ purpose: 'part', messages, answerTokens: sizes.part.output })
  if (!reply) return undefined
  if (reply.truncated && !reply.problem && again && halves) return describeBoth(writing, halves, false)
  return [checked(reply.text, writing.pathIndex)]
}

async function describeBoth(
  writing: Writing,
  halves: [ShownFile[], ShownFile[]],
  again: boolean,
): Promise<string[] | undefined> {
  const first = await describe(writing, halves[0], again)
  const second = first && (await describe(writing, halves[1], again))
  return first && [...first, ...(second ?? [])]
}

/** A single line that is too long for a request is cut. */
async function describeOneLine(writing: Writing, files: readonly ShownFile[]): Promise<string[] | undefined> {
  for (const lineLimit of [500, 100, 20]) {
    const messages = partMessages({ files: files.map((file) => ({ ...file, lineLimit })) })
    if (writing.queue.size(messages) > writing.sizes.part.input) continue
    const reply = await writing.queue.ask({ purpose: 'part', messages, answerTokens: writing.sizes.part.output })
    return reply && [checked(reply.text, writing.pathIndex)]
  }
  return undefined
}

/** Splits by lines, so that a single large file is split too. Undefined if there is only one line. */
export function splitInHalf(files: readonly ShownFile[]): [ShownFile[], ShownFile[]] | undefined {
  const total = files.reduce((sum, file) => sum + file.lines.length, 0)
  if (total < 2) return undefined
  const halves: [ShownFile[], ShownFile[]] = [[], []]
  let room = Math.floor(total / 2)
  for (const file of files) {
    const first = file.lines.slice(0, room)
    const second = file.lines.slice(room)
    if (first.length > 0) halves[0].push({ ...file, lines: first })
    if (second.length > 0) halves[1].push({ ...file, lines: second })
    room = Math.max(0, room - file.lines.length)
  }
  return halves
}

/** Joins several texts about one leaf. The model combines them if they are too long together. */
async function joinTexts(writing: Writing, directory: string, texts: string[]): Promise<string> {
  let current = texts.filter((text) => text !== '')
  while (current.length > 1 && current.join('').length > longestText / 2) {
    const next: string[] = []
    const groups = Math.ceil(current.length / writing.sizes.joined)
    for (let from = 0; from < current.length; from += Math.ceil(current.length / groups)) {
      const group = current.slice(from, from + Math.ceil(current.length / groups))
      next.push(
        await combined(writing, directory, { parts: group.map((text) => ({ directory, text })) }, group.join('\n\n')),
      )
    }
    if (next.length >= current.length) break
    current = next
  }
  return cutText(current.join('\n\n'), longestText)
}

/** Updates the text of a leaf. If the reply is cut, the change is sent in two halves. */
async function changeLeaf(
  writing: Writing,
  work: LeafWork,
  files: readonly ShownFile[],
  again = true,
): Promise<string | undefined> {
  const { queue, sizes, draft, pathIndex } = writing
  const { part } = work
  const { text: brief, held } = insertPlaceholders(part.text, draft.touched.paths, pathIndex)
  const messages = partMessages({ files, earlier: brief, news: { gone: work.change?.gone ?? [] } })
  if (queue.size(messages) > sizes.part.input) return describeLeaf(writing, work)
  const reply = await queue.ask({ purpose: 'part', messages, answerTokens: sizes.part.output })
  if (!reply) return undefined
  const halves = splitInHalf(files)
  if (reply.truncated && !reply.problem && again && halves) {
    const first = await changeLeaf(writing, work, halves[0], false)
    if (first === undefined) return undefined
    return changeLeaf(writing, { ...work, part: { ...part, text: first } }, halves[1], false)
  }
  const text = reply.text.trim() === '' ? '' : checked(restorePlaceholders(reply.text, held), pathIndex)
  return text === '' ? '' : cutText(restoreForgotten(part.text, text, draft.touched, pathIndex), longestText)
}

// ── combined parts ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** From the bottom up; the parts of one level side by side. */
export async function writeJoined(writing: Writing): Promise<void> {
  const { draft } = writing
  for (const level of levelsOf(draft)) await writing.queue.all(level, (part) => writeOne(writing, part))
}

function levelsOf(draft: Draft): CachedPart[][] {
  const height = (part: CachedPart): number =>
    part.kind === 'leaf' ? 0 : 1 + Math.max(0, ...childrenOf(draft, part.id).map(height))
  const byHeight = Map.groupBy(
    [...draft.parts.values()].filter((part) => part.kind === 'joined'),
    height,
  )
  return [...byHeight].sort(([a], [b]) => a - b).map(([, parts]) => parts)
}

async function writeOne(writing: Writing, part: CachedPart): Promise<void> {
  const { draft, dirty, paid } = writing
  const children = childrenOf(draft, part.id).filter((child) => child.text !== '')
  const renewed = children.filter((child) => dirty.has(child.id))
  if (part.text !== '' && renewed.length === 0 && !draft.reduced.has(part.id)) {
    writing.done.add(part.id)
    return
  }
  const known = paid.get(part.key)
  if (known !== undefined) return accept(writing, part, known)
  const afresh = part.text === '' || renewed.length > children.length / 2
  const { text: brief, held } = insertPlaceholders(part.text, draft.touched.paths, writing.pathIndex)
  const request = afresh
    ? { parts: children }
    : {
        parts: renewed.map((child) => changesToReport(writing, child)),
        earlier: brief,
        news: { gone: draft.gone },
        held,
      }
  const firstWords = children.map((child) => cutText(child.text.split('\n\n', 1)[0]!, 300)).join('\n\n')
  const text = await combined(writing, part.directory, request, afresh ? firstWords : part.text)
  accept(
    writing,
    part,
    afresh ? text : cutText(restoreForgotten(part.text, text, draft.touched, writing.pathIndex), longestText),
  )
}

/** `fallback` is the text if the budget has no room or the reply is empty. */
async function combined(
  writing: Writing,
  directory: string,
  request: CombineRequest & { held?: ReadonlyMap<number, string> },
  fallback: string,
): Promise<string> {
  const { queue, sizes } = writing
  const build = (share: number) => combineMessages({ ...request, parts: shortenParts(request.parts, share) })
  const messages = await fitMessages(queue, sizes.combine.input, build)
  const reply = messages && (await queue.ask({ purpose: 'combine', messages, answerTokens: sizes.combine.output }))
  const raw = reply?.text.trim() ?? ''
  const text = raw === '' ? '' : checked(restorePlaceholders(raw, request.held ?? new Map()), writing.pathIndex)
  if (text === '') {
    const name = quote(directory === '' ? '.' : directory)
    writing.notice(
      `The model wrote no text that combines the parts of ${name}; the texts of the parts are used instead.`,
    )
  }
  return text === '' ? cutText(fallback, longestText) : text
}

const shares = [1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05]

/** Shows less and less of the data until the messages fit. */
export async function fitMessages(
  queue: ModelQueue,
  bound: number,
  build: (share: number) => Messages,
): Promise<Messages | undefined> {
  for (const share of shares) {
    const messages = build(share)
    if (queue.size(messages) <= bound) return messages
  }
  return undefined
}

export function shortenParts(parts: readonly DescribedPart[], share: number): DescribedPart[] {
  return parts.map(({ text, ...part }) => ({
    ...part,
    text: share === 1 ? text : cutText(text, Math.floor(text.length * share)),
  }))
}

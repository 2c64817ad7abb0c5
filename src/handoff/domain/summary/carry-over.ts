// Carries an earlier summary over to a later commit: keeps valid texts, renames moved paths, removes sentences about removed files, and
// plans model requests for changed files. Only those requests cost money.

import { type CommitFacts, pathIndexFor } from './commit-facts.js'
import { type ChangedFile, type CommitDiff, createCachedFile, movedLine, pathMover } from './diff-commits.js'
import { changedLines, limitNewFile } from './excerpt-limit.js'
import { goneDirectories, type PathIndex, parentOf, withoutPaths } from './path-index.js'
import { mapMentions, mentionText } from './path-mentions.js'
import type { RequestSizes } from './request-sizes.js'
import type { SourceFile } from './source-files.js'
import type { CachedPart, SummaryCache } from './summary-cache.js'
import { mapSections, type Sections } from './summary-document.js'
import { addLeaves, childrenOf, type Draft, emptyDraft, rejoin, type SizedFile, shownFile } from './summary-draft.js'
import type { ShownFile } from './summary-prompt.js'
import { type VerifiedText, verifyPaths } from './verify-paths.js'

export interface CarryOverInput {
  cache: SummaryCache
  sections: Sections
  changes: CommitDiff
  facts: CommitFacts
  sizes: RequestSizes
  tokensOf: (path: string) => number
  /** True if files that a limit left out are described now. */
  fillGaps: boolean
}

export function carryOver(carrying: CarryOverInput): Draft {
  const draft: Draft = { ...emptyDraft(), fresh: false }
  for (const part of carrying.cache.parts) draft.parts.set(part.id, { ...part })
  const added = carryFiles(draft, carrying)
  carryWords(draft, carrying)
  const { gone } = carrying.changes
  draft.gone = shortest(
    gone,
    goneDirectories(
      carrying.cache.files.map((file) => file.path),
      carrying.facts.paths,
    ),
  )
  for (const path of [...gone, ...carrying.changes.moved.keys()]) draft.touched.paths.add(path)
  if (carrying.cache.parts.length === 0) directWork(draft, carrying, added)
  else partWork(draft, carrying, added)
  return draft
}

/** Returns the files that have no description yet. */
function carryFiles(draft: Draft, { changes, fillGaps, facts }: CarryOverInput): SourceFile[] {
  const added: SourceFile[] = []
  for (const [path, before] of changes.kept) {
    const file = facts.byPath.get(path)
    if (before.leftOut && fillGaps && file) added.push(file)
    draft.files.set(path, { ...before, path })
  }
  for (const file of changes.unseen) draft.files.set(file.path, file)
  for (const change of changes.changed) {
    const { file, marks, before } = change
    const entry = createCachedFile(file, marks, before.part)
    // A file that a limit left out stays out until the limit is raised.
    draft.files.set(file.path, before.leftOut && !fillGaps ? { ...entry, leftOut: true } : entry)
    if (before.leftOut && fillGaps) added.push(file)
  }
  for (const { file, marks } of changes.added) {
    draft.files.set(file.path, createCachedFile(file, marks))
    added.push(file)
  }
  return added
}

// ── texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function carryWords(draft: Draft, carrying: CarryOverInput): void {
  const { changes, facts, cache } = carrying
  draft.sections = carrying.sections
  if (changes.changed.length + changes.gone.length + changes.moved.size === 0) return
  // A file that changed and was not chosen again exists, but its description may be wrong.
  const pathIndex = withoutPaths(
    pathIndexFor(
      facts,
      draft.files.values(),
      cache.files.map((file) => file.path),
    ),
    new Set(changes.gone),
  )
  const carry = wordCarrier(changes, pathIndex)
  draft.sections = mapSections(carrying.sections, (text, index) => {
    const carried = carry(text)
    if (carried.removed > 0) draft.touched.sections.add(index)
    return carried.markdown
  })
  for (const part of draft.parts.values()) {
    part.text = carry(part.text).markdown
    const directory = pathMover(changes.moved, (path) => pathIndex.exists(path))(part.directory)
    part.directory = directory ?? part.directory
  }
}

function wordCarrier(changes: CommitDiff, pathIndex: PathIndex): (text: string) => VerifiedText {
  const move = pathMover(changes.moved, (path) => pathIndex.exists(path))
  const changed = new Map<string, ChangedFile>(changes.changed.map((change) => [change.before.path, change]))
  return (text) => {
    const renamed = mapMentions(
      text,
      ({ path, line, to }) => {
        const now = move(path)
        const change = changed.get(path)
        // An unusual path is never inserted into the text; its sentence is removed as if the file were gone.
        if (now !== undefined && /[\p{Cc}`<\u2028\u2029]/u.test(now)) return undefined
        if (now === undefined && (change === undefined || line === undefined)) return undefined
        const place = (old: number | undefined) =>
          old === undefined || !change ? old : (movedLine(change, old) ?? old)
        return mentionText(now ?? path, place(line), place(to))
      },
      pathIndex.odd,
    )
    return verifyPaths(renamed, pathIndex)
  }
}

/** A removed directory stands for all paths in it. */
function shortest(paths: readonly string[], directories: readonly string[]): string[] {
  const gone = new Set(directories)
  const names = new Set<string>()
  for (const path of paths) {
    let name = path
    for (let at = parentOf(path); at !== ''; at = parentOf(at)) if (gone.has(at)) name = `${at}/`
    names.add(name)
  }
  return [...names].sort()
}

// ── model requests ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function touch(draft: Draft, file: SourceFile): void {
  draft.touched.kinds.add(file.kind)
  draft.touched.paths.add(file.path)
}

/** A repository without parts: the sections describe the files directly. */
function directWork(draft: Draft, { changes }: CarryOverInput, added: SourceFile[]): void {
  for (const change of changes.changed) {
    const shown = change.before.leftOut ? undefined : changedLines(change)
    if (!shown) continue
    draft.direct.push(shown)
    touch(draft, change.file)
  }
  for (const file of added) {
    draft.direct.push(shownFile(limitNewFile(file)))
    touch(draft, file)
    described(draft, file.path)
  }
}

function described(draft: Draft, path: string, part?: number): void {
  const { leftOut: _leftOut, part: _part, ...entry } = draft.files.get(path)!
  draft.files.set(path, { ...entry, ...(part === undefined ? {} : { part }) })
}

interface Affected {
  shown: ShownFile[]
  gone: string[]
  added: SourceFile[]
}

function partWork(draft: Draft, carrying: CarryOverInput, added: SourceFile[]): void {
  const affected = new Map<number, Affected>()
  const of = (part: number) => {
    const known = affected.get(part)
    if (known) return known
    const entry: Affected = { shown: [], gone: [], added: [] }
    affected.set(part, entry)
    return entry
  }
  for (const change of carrying.changes.changed) {
    const shown = changedLines(change)
    if (!shown || change.before.part === undefined) continue
    of(change.before.part).shown.push(shown)
    touch(draft, change.file)
  }
  const former = new Map(carrying.cache.files.map((file) => [file.path, file.part]))
  for (const path of carrying.changes.gone) {
    const part = former.get(path)
    if (part !== undefined) of(part).gone.push(path)
  }
  const homeless = settle(draft, carrying, added, of)
  dropEmpty(draft)
  for (const [id, entry] of affected) {
    const part = draft.parts.get(id)
    if (part) draft.work.push(leafWork(draft, carrying, part, entry))
  }
  placeNewLeaves(draft, carrying, homeless)
  rejoin(draft, carrying.sizes)
}

/** Adds new files to the leaf of their directory, unless they are enough for a leaf of their own. */
function settle(
  draft: Draft,
  carrying: CarryOverInput,
  added: SourceFile[],
  of: (part: number) => Affected,
): SourceFile[] {
  const homes = homesOf(draft)
  const weights = new Map<number, number>()
  for (const { part, path } of draft.files.values()) {
    if (part !== undefined) weights.set(part, (weights.get(part) ?? 0) + carrying.tokensOf(path))
  }
  const bound = carrying.sizes.part.input - carrying.sizes.part.output
  const homeless: SourceFile[] = []
  for (const file of added) {
    touch(draft, file)
    const home = homeOf(file.path, homes)
    const tokens = carrying.tokensOf(file.path)
    if (home === undefined || tokens > bound / 2 || (weights.get(home) ?? 0) + tokens > bound * 2) {
      homeless.push(file)
      continue
    }
    weights.set(home, (weights.get(home) ?? 0) + tokens)
    of(home).added.push(file)
    described(draft, file.path, home)
  }
  return homeless
}

/** The leaf of each directory: the one with its own files, else one with files below it. */
function homesOf(draft: Draft): Map<string, number> {
  const homes = new Map<string, number>()
  const described = [...draft.files.values()].filter((file) => file.part !== undefined)
  for (const { path, part } of described) homes.set(parentOf(path), part!)
  for (const { path, part } of described) {
    for (let at = parentOf(path); at !== ''; at = parentOf(at)) if (!homes.has(at)) homes.set(at, part!)
  }
  return homes
}

/** The leaf of the nearest parent directory; undefined for a new top-level directory. */
function homeOf(path: string, homes: Map<string, number>): number | undefined {
  let at = parentOf(path)
  if (at === '') return homes.get('')
  for (; at !== ''; at = parentOf(at)) {
    const home = homes.get(at)
    if (home !== undefined) return home
  }
  return undefined
}

function dropEmpty(draft: Draft): void {
  const used = new Set([...draft.files.values()].map((file) => file.part))
  for (const part of [...draft.parts.values()]) if (part.kind === 'leaf' && !used.has(part.id)) drop(draft, part)
}

function drop(draft: Draft, part: CachedPart): void {
  draft.parts.delete(part.id)
  const parent = part.parent === undefined ? undefined : draft.parts.get(part.parent)
  if (!parent) return
  draft.reduced.add(parent.id)
  if (childrenOf(draft, parent.id).length === 0) drop(draft, parent)
}

function leafWork(draft: Draft, carrying: CarryOverInput, part: CachedPart, entry: Affected): Draft['work'][number] {
  const members = [...draft.files.values()].filter((file) => file.part === part.id)
  const files = members
    .flatMap((member) => carrying.facts.byPath.get(member.path) ?? [])
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  part.tokens = files.reduce((sum, file) => sum + carrying.tokensOf(file.path), 0)
  const shown = [...entry.shown, ...entry.added.map((file) => shownFile(limitNewFile(file)))]
  const weight = (list: readonly { lines: readonly unknown[] }[]) =>
    list.reduce((sum, file) => sum + file.lines.length, 0)
  const afresh = files.length === members.length && weight(shown) > weight(files) * 0.6
  if (afresh || part.text === '') return { part, files }
  return { part, files, change: { files: shown, gone: entry.gone } }
}

function placeNewLeaves(draft: Draft, carrying: CarryOverInput, homeless: SourceFile[]): void {
  const items: SizedFile[] = homeless.map((file) => {
    const seen = limitNewFile(file)
    const tokens = Math.ceil((carrying.tokensOf(file.path) * seen.lines.length) / file.lines.length)
    return { path: file.path, tokens, file: seen }
  })
  items.sort((a, b) => (a.path < b.path ? -1 : 1))
  const joined = [...draft.parts.values()].filter((part) => part.kind === 'joined')
  for (const { part, files } of addLeaves(draft, items, carrying.sizes)) {
    for (const file of files) described(draft, file.path, part.id)
    const above = joined
      .filter(({ directory }) => directory !== '' && `${part.directory}/`.startsWith(`${directory}/`))
      .sort((a, b) => b.directory.length - a.directory.length)[0]
    if (above) part.parent = above.id
  }
}

// The survey: what is in a commit, what of it is central, and as much of its text as there is room for.
//
//   list (git ls-tree) → classify by name → look into what may be chosen (one git cat-file) → rank → share out the budget → write pieces
//
// Nothing is walked and nothing is checked out. Files are looked into as they stream by and are not kept; only the chosen ones are read again.
// The same commit and limits give the same bytes, with an earlier survey's store or without.
import type { SurveyLimits } from '../../../library/records.js'
import type { ChosenText, FileTable, Outline, Survey } from '../../../library/survey.js'
import { GuestError } from '../speak.js'
import { analysisKey, createAnalyser } from './analyse.js'
import { type AttributesFile, attributesFrom } from './attributes.js'
import { classify, type Selection } from './classify.js'
import { textBytes } from './content.js'
import { type BlobReader, gitIn, listTree, openBlobs, type SpawnGit } from './git.js'
import { parsePatterns, pathSelector, patternLimit } from './globs.js'
import { noticesOf } from './notices.js'
import { writePieces } from './pieces.js'
import { shareOut } from './plan.js'
import { rank } from './rank.js'
import { countFiles, longestPath, makeSurvey, makeTable, outlineText, parseOutline, secretPlaces } from './report.js'
import { openStore, type Store } from './store.js'
import { type Entry, parseTree, type Tree } from './tree.js'

export interface SurveyOptions {
  /** A bare repository; one commit deep is enough. */
  gitDirectory: string
  commit: string
  limits: SurveyLimits
  /** How git is started, where it is not simply on the PATH. */
  spawnGit?: SpawnGit
  /** What `store` of an earlier survey gave, of whatever commit. */
  cache?: Uint8Array
}

export interface SurveyResult {
  survey: Omit<Survey, 'texts'>
  table: FileTable
  /** Read from `outlineJson` when it is first asked for. */
  readonly outline: Outline
  /** `outline` as it is to be stored. */
  outlineJson: string
  texts: ChosenText[]
  /** What the next survey can be handed as its cache. */
  store: () => Uint8Array
}

export async function survey(options: SurveyOptions): Promise<SurveyResult> {
  const git = options.spawnGit ?? gitIn(options.gitDirectory)
  // Programs are started before there is something to ask of them, so that nobody waits for their start.
  const readers = [openBlobs(git), openBlobs(git), openBlobs(git)] as const
  try {
    return await surveyWith(options, git, readers)
  } finally {
    for (const reader of readers) reader.stop()
  }
}

async function surveyWith(
  options: SurveyOptions,
  git: SpawnGit,
  readers: readonly [BlobReader, BlobReader, BlobReader],
): Promise<SurveyResult> {
  const { commit, limits } = options
  const [listing, head] = await Promise.all([listTree(git, commit), readHead(readers[0], commit)])
  const tree = parseTree(listing, head.rootTree)
  const patterns = parsePatterns(head.ignore.split('\n'))
  classify(tree, await selectionOf(tree, head, patterns.length > 0 ? pathSelector(patterns) : () => false, limits, git))

  const store = openStore(options.cache)
  await lookInto(tree.entries, store, readers[1])
  const candidates = tree.entries.filter((entry) => entry.reason === undefined)
  const shares = shareOut(rank(tree, candidates, store), store, limits.textBytes)
  const pieces = await writePieces(shares, store, limits.textBytes, readers[2])
  for (const entry of candidates) if (entry.state !== 'read') entry.reason = 'budget'

  const counts = countFiles(tree.entries)
  const secrets = secretPlaces(tree.entries, store, pieces)
  const notices = noticesOf({
    tree,
    counts,
    store,
    secrets: secrets.length,
    storeRefused: store.refused,
    patternsLeft: Math.max(0, patterns.length - patternLimit),
  })
  const outlineJson = outlineText(commit, tree.entries, store)
  return {
    survey: makeSurvey(commit, tree, counts, secrets, notices),
    table: makeTable(commit, tree, secrets),
    get outline() {
      return parseOutline(outlineJson)
    },
    outlineJson,
    texts: pieces.texts,
    store: store.encode,
  }
}

interface Head {
  rootTree: string
  attributes: AttributesFile[]
  ignore: string
}

/** What can be asked for before the list is there. */
async function readHead(reader: BlobReader, commit: string): Promise<Head> {
  const answers: string[] = []
  await reader.read([commit, `${commit}:.gitattributes`, `${commit}:.handoffignore`], (_, bytes) => {
    answers.push(bytes ? (textBytes(bytes)?.toString('utf8') ?? '') : '')
  })
  const [head = '', attributes = '', ignore = ''] = answers
  const rootTree = /^tree ([0-9a-f]{40,64})$/m.exec(head)?.[1]
  if (rootTree === undefined) throw new GuestError('no-such-commit', `the clone does not have the commit ${commit}`)
  return { rootTree, attributes: [{ directory: '', text: attributes }], ignore }
}

async function selectionOf(
  tree: Tree,
  head: Head,
  ignored: (path: string) => boolean,
  limits: SurveyLimits,
  git: SpawnGit,
): Promise<Selection> {
  const nested = tree.entries.filter(
    ({ name, folder, mode, size }) =>
      name === '.gitattributes' && folder.depth > 0 && mode.startsWith('100') && size < 100_000,
  )
  const attributes = [...head.attributes]
  if (nested.length > 0) {
    await openBlobs(git).read(
      nested.map(({ blob }) => blob),
      (index, bytes) => attributes.push({ directory: nested[index]!.folder.path, text: bytes?.toString('utf8') ?? '' }),
    )
  }
  const included = limits.include.length > 0 ? pathSelector(parsePatterns(limits.include)) : () => true
  const excluded = limits.exclude.length > 0 ? pathSelector(parsePatterns(limits.exclude)) : () => false
  return { attributes: attributesFrom(attributes), excluded: (path) => !included(path) || excluded(path), ignored }
}

/** Every distinct file once, whatever the number of its names. */
async function lookInto(entries: readonly Entry[], store: Store, reader: BlobReader): Promise<void> {
  const asked = new Map<string, Entry[]>()
  for (const entry of entries) {
    if (entry.reason !== undefined) continue
    if (entry.path.length > longestPath) entry.reason = 'too large'
    const key = analysisKey(entry)
    entry.record = store.find(key)
    if (entry.record >= 0) settle(entry, store)
    else if (entry.reason === undefined) {
      const alike = asked.get(key)
      if (alike) alike.push(entry)
      else asked.set(key, [entry])
    }
  }
  const waiting = [...asked.values()]
  const analyse = createAnalyser(store)
  await reader.read(
    waiting.map(([entry]) => entry!.blob),
    (index, bytes) => {
      const alike = waiting[index]!
      const record = bytes ? analyse(alike[0]!, bytes) : -1
      for (const entry of alike) {
        entry.record = record
        settle(entry, store)
      }
    },
  )
}

/** What the content says goes before what the name said. */
function settle(entry: Entry, store: Store): void {
  if (entry.record < 0) {
    entry.reason = 'missing'
    return
  }
  const { nature, grammar } = store.records[entry.record]!
  if (nature === 'lfs-pointer') {
    entry.kind = 'lfs-pointer'
    entry.reason = 'lfs pointer'
  } else if (entry.pointer) entry.reason = entry.kind === 'data' ? 'data' : 'binary'
  else if (nature !== 'text') {
    entry.kind = nature
    entry.reason = nature
  } else if (grammar === 'unknown' && !entry.name.includes('.')) entry.kind = 'documentation'
}

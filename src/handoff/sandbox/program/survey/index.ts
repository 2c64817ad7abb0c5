// The survey: what is in a commit, what of it is central, and as much of its text as there is room for.
//
//   list (git ls-tree) → classify by name → look into what may be chosen (one git cat-file) → rank → share out the budget → write pieces
//
// Nothing is walked and nothing is checked out. Files are looked into as they stream by and are not kept; only the chosen ones are read again.
// The same commit and limits give the same bytes, with an earlier survey's store or without.
import type { SurveyLimits } from '../../../domain/sandbox-protocol.js'
import type { ChosenText, FileTable, Outline, Survey } from '../../../domain/survey.js'
import { GuestError } from '../emit-record.js'
import { shareOut } from './allocate-budget.js'
import { openStore } from './analysis-table.js'
import { lookInto, setTestsAside } from './analyze-files.js'
import { classify } from './classify-file.js'
import { type BlobReader, gitIn, listTree, openBlobs, type SpawnGit } from './git-objects.js'
import { type Tree, treeParser } from './git-tree.js'
import { noticesOf } from './notices.js'
import { rank } from './rank-files.js'
import { countFiles, makeSurvey, outlineText, parsed, secretPlaces, tableText } from './report.js'
import { readRules, selectionOf } from './repository-rules.js'
import { writePieces } from './write-excerpts.js'

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
  /** Both tables as they are to be stored, in pieces; each call begins anew. */
  files: () => Iterable<string>
  outlines: () => Iterable<string>
  /** The same as values, read from the pieces when they are asked for. */
  readonly table: FileTable
  readonly outline: Outline
  texts: ChosenText[]
  /** What the next survey can be handed as its cache. */
  store: () => Uint8Array
}

export async function survey(options: SurveyOptions): Promise<SurveyResult> {
  const git = options.spawnGit ?? gitIn(options.gitDirectory)
  const parser = treeParser()
  const listed = listTree(git, options.commit, parser.push)
  const few = openBlobs(git, 'few')
  let many: BlobReader | undefined
  const readers: Readers = {
    few,
    many() {
      many ??= openBlobs(git, 'many')
      return many
    },
  }
  try {
    const [, root] = await Promise.all([listed, rootOf(options.commit, few)])
    // Started before there is something to ask of it, so that nobody waits for its start. With a store there will be little to ask.
    if (!options.cache) readers.many()
    return await surveyTree(parser.finish(root), options, readers)
  } finally {
    few.stop()
    many?.stop()
  }
}

/** Two programs, for each has its own way with its output: at once, or in large pieces. */
interface Readers {
  few: BlobReader
  many: () => BlobReader
}

/** So many are read sooner by the program that runs already. */
const fewFiles = 50

async function surveyTree(tree: Tree, options: SurveyOptions, { few, many }: Readers): Promise<SurveyResult> {
  const { commit, limits } = options
  const rules = await readRules(tree, few)
  classify(tree, selectionOf(rules, limits))

  const store = openStore(options.cache)
  const testsAside = setTestsAside(tree, limits)
  await lookInto(tree.entries, store, (count) => (count < fewFiles ? few : many()))
  const candidates = tree.entries.filter((entry) => entry.reason === undefined)
  const shares = shareOut(rank(tree, candidates, store), store, limits.textBytes)
  const pieces = await writePieces(shares, store, limits.textBytes, few)
  for (const entry of candidates) if (entry.state !== 'read') entry.reason = 'budget'

  const counts = countFiles(tree.entries)
  const secrets = secretPlaces(tree.entries, store, pieces)
  const notices = noticesOf({ tree, counts, store, secrets: secrets.length, testsAside, rules })
  const files = () => tableText(commit, tree, secrets)
  const outlines = () => outlineText(commit, tree.entries, store)
  let table: FileTable | undefined
  return {
    survey: makeSurvey(commit, tree, counts, secrets, notices),
    files,
    outlines,
    get table() {
      table ??= parsed<FileTable>(files())
      return table
    },
    get outline() {
      return parsed<Outline>(outlines())
    },
    texts: pieces.texts,
    store: store.encode,
  }
}

/** The commit names the tree it is of; the list of files does not. */
async function rootOf(commit: string, reader: BlobReader): Promise<string> {
  let root: string | undefined
  await reader.read([commit], (_, bytes) => {
    root = /^tree ([0-9a-f]{40,64})\n/.exec(bytes?.toString('latin1', 0, 100) ?? '')?.[1]
  })
  if (root === undefined) throw new GuestError('no-such-commit', `the clone does not have the commit ${commit}`)
  return root
}

// The survey of a commit: the table of all files, their definitions, and the text of the most central files within a byte budget.
//
//   list (git ls-tree) → classify by name → analyze (one git cat-file) → rank → allocate the budget → write excerpts
//
// There is no checkout. Files are analyzed while they stream by and are not kept; only the chosen ones are read again.
// The same commit and limits give the same bytes.
import type { SurveyLimits } from '../../../domain/sandbox-protocol.js'
import type { ChosenText, FileTable, Outline, Survey } from '../../../domain/survey.js'
import { GuestError } from '../emit-record.js'
import { shareOut } from './allocate-budget.js'
import { createAnalysisTable } from './analysis-table.js'
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
  /** Starts git; by default the git on the PATH. */
  spawnGit?: SpawnGit
}

export interface SurveyResult {
  survey: Omit<Survey, 'texts'>
  /** JSON of both tables in pieces; each call starts from the beginning. */
  files: () => Iterable<string>
  outlines: () => Iterable<string>
  /** The parsed tables, built on first use. */
  readonly table: FileTable
  readonly outline: Outline
  texts: ChosenText[]
}

/** Two `git cat-file` processes: `few` answers at once and may be asked again, `all` reads one long list in large pieces. */
interface Readers {
  few: BlobReader
  all: BlobReader
}

export async function survey(options: SurveyOptions): Promise<SurveyResult> {
  const git = options.spawnGit ?? gitIn(options.gitDirectory)
  const parser = treeParser()
  const listed = listTree(git, options.commit, parser.push)
  // Both start now, so that they are ready when the list is.
  const readers: Readers = { few: openBlobs(git, 'few'), all: openBlobs(git, 'many') }
  try {
    const [, root] = await Promise.all([listed, readRootTree(options.commit, readers.few)])
    return await surveyTree(parser.finish(root), options, readers)
  } finally {
    readers.few.stop()
    readers.all.stop()
  }
}

async function surveyTree(tree: Tree, { commit, limits }: SurveyOptions, { few, all }: Readers): Promise<SurveyResult> {
  const rules = await readRules(tree, few)
  classify(tree, selectionOf(rules, limits))

  const analyses = createAnalysisTable()
  const testsAside = setTestsAside(tree, limits)
  await lookInto(tree.entries, analyses, all)
  const candidates = tree.entries.filter((entry) => entry.reason === undefined)
  const shares = shareOut(rank(tree, candidates, analyses), analyses, limits.textBytes)
  const pieces = await writePieces(shares, analyses, limits.textBytes, few)
  for (const entry of candidates) if (entry.state !== 'read') entry.reason = 'budget'

  const counts = countFiles(tree.entries)
  const secrets = secretPlaces(tree.entries, analyses, pieces)
  const notices = noticesOf({ tree, counts, analyses, secrets: secrets.length, testsAside, rules })
  const files = () => tableText(commit, tree, secrets)
  const outlines = () => outlineText(commit, tree.entries, analyses)
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
  }
}

/** The commit object names its root tree; the list of files does not. */
async function readRootTree(commit: string, reader: BlobReader): Promise<string> {
  let root: string | undefined
  await reader.read([commit], (_, bytes) => {
    root = /^tree ([0-9a-f]{40,64})\n/.exec(bytes?.toString('latin1', 0, 100) ?? '')?.[1]
  })
  if (root === undefined) throw new GuestError('no-such-commit', `the clone does not have the commit ${commit}`)
  return root
}

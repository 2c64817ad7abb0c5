// All numbers of the ranking. They were tuned by hand on questions about some repositories and checked on others. Small changes have little effect,
// so more digits would mean nothing.

import type { Shape } from './question-shape.js'

export const weights = {
  /** Weight of a word before its rarity: question words, abbreviations, prefixes, words of a model, of earlier questions, other words for one thing, and parts of names. */
  questionWord: 0.75,
  abbreviation: 0.6,
  prefix: 0.6,
  modelTerm: 0.9,
  earlierTerm: 0.4,
  synonym: 0.4,
  compound: 0.5,
  /** Words that the summary gives to a directory. */
  directoryWords: 0.7,
  /** Words below the first line of a report, and how much repetition adds. */
  body: 0.25,
  repeated: 0.5,

  /** BM25: how fast repetition saturates, and how much length counts. */
  saturation: 2,
  lengthPenalty: 0.6,
  /** The shortest length that counts, as a part of the average. */
  leastLength: 0.3,
  /** How many times a word counts in these names. */
  ownName: 3,
  enclosingName: 2.5,
  path: 2,
  filePath: 2,
  /** Names that the question covers, and neighbouring words of the question on one line. */
  nameCoverage: 0.5,
  neighbours: 0.15,

  /** Factors for kinds of files. */
  test: 0.5,
  testInPython: 0.75,
  testWhenAsked: 0.9,
  documentation: 0.6,
  documentationWhenAsked: 0.8,
  example: 0.85,

  /** Shares of the second and third region and of the whole file in a file's rank. */
  secondRegion: 0.3,
  thirdRegion: 0.3,
  wholeFile: 0.3,

  /** A file that the question names gains the rank of the best file; a path outside the repository that shares only its end gains this part. */
  namedElsewhere: 0.3,
  namedConcept: 0.05,
  /** The files that describe the repository, for a question in another language. */
  overview: 0.2,
  /** The least score of every region of a file that is named without lines, as a part of the best score. */
  namedRegion: 0.3,

  /** The ranking is unsure where the first file leads by less. */
  clearLead: 1,
  /** How much the rank of a file counts when its lines compete with those of others. */
  fileTrust: 0.2,
  /** How much a region rises that defines what the best files use, or that the summary cites. */
  region: 0.2,
}

/** What the ranking knows of a file. */
export const features =
  'base first second third whole block path name defines named uses tested testOf testRank imports hint test documentation example big'.split(
    ' ',
  )

/** One weight for each feature. */
export type FileWeights = Float64Array

/** Reads pairs of a feature and its weight; a feature without a weight does not count. */
function readTable(text: string): FileWeights {
  const words = text.split(' ')
  return Float64Array.from(features, (name) => (words.includes(name) ? Number(words[words.indexOf(name) + 1]) : 0))
}

/** Where learning starts. */
export const start = readTable('base 5 defines 0.5 named 10 uses 1 tested 1 testOf 0.3 hint 0.6')
/**
 * Learnt from questions, issues and the history of other projects by `npm run eval:learn`. In the table of questions `testRank` was added by hand, by a
 * grid of values: what is learnt with it costs the given questions more than it gives others.
 */
const question = readTable(
  'base 5.07 second 0.29 third 0.66 whole 0.49 block 0.15 path 0.68 name 0.38 defines 0.37 named 10 uses 0.9 tested 1.28 testOf 0.7 testRank 0.6 imports 0.21 hint 0.6 test -0.68 documentation -0.26 example -0.41 big -0.37',
)
const report = readTable(
  'base 4.86 first -0.32 second -0.22 third 0.32 whole 0.43 block 1.05 path 0.75 name 0.23 defines 0.62 named 8.2 uses 0.82 tested 1.03 imports 0.94 hint 0.6 test -1.59 documentation -0.91 example -1.3 big 1.06',
)
const trace = readTable(
  'base 5.56 first 0.86 second 0.83 third 0.53 whole 0.18 block 1.85 path 0.69 name -0.88 defines 0.8 named 4.4 uses 0.38 tested 0.44 imports 0.26 hint 0.6 test -2.32 documentation -0.92 example -1.4 big 0.26',
)

export const tables: Record<Shape, FileWeights> = { question, report, trace, name: question, diff: report }

export const sizes = {
  /** Files in the second ranking. */
  candidates: 120,
  /** Lines of a definition that stays whole, and of the windows that divide a longer one. */
  whole: 60,
  window: 40,
  stride: 30,
  /** Files whose best region is shown before any file shows a second one. */
  shownFiles: 14,
  /** Lines between two shown places that are shown too. */
  gap: 12,
  /** Files whose regions are considered for excerpts. */
  competing: 40,
  /** Files that a model chooses from. */
  cards: 60,
  /** So many files whose best lines define one name are alike. */
  twins: 5,
  /** Files that are ranked because they relate to the best ones. */
  related: 20,
}

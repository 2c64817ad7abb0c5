// All numbers of the ranking. They were tuned by hand on questions about some repositories and checked on others. Small changes have little effect,
// so more digits would mean nothing.

import type { Shape } from './shape.js'

export const weights = {
  /** Weight of a word before its rarity: question words, abbreviations, prefixes, extra terms. */
  questionWord: 0.5,
  abbreviation: 0.6,
  prefix: 0.6,
  extraTerm: 0.4,
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
  stub: 0.5,
  example: 0.85,

  /** A part of a long definition scores at least this share of the whole. */
  longDefinition: 0.7,
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

  /** How much the rank of a file counts when its lines compete with those of others. */
  fileTrust: 0.2,
  /** How much a region rises that defines what the best files use, or that the summary cites. */
  region: 0.2,
}

/** What the ranking knows of a file. */
export const features = [
  'base',
  'first',
  'second',
  'third',
  'whole',
  'block',
  'path',
  'name',
  'defines',
  'named',
  'uses',
  'walk',
  'mentions',
  'tested',
  'testOf',
  'hint',
  'test',
  'testAsked',
  'documentation',
  'documentAsked',
  'configuration',
  'example',
  'stub',
  'private',
  'big',
  'twin',
  'inherited',
] as const
export type Feature = (typeof features)[number]

/** The weight of each feature of a file; a feature without a weight does not count. */
export type FileWeights = Partial<Record<Feature, number>>

const start: FileWeights = {
  base: 5,
  defines: 0.5,
  named: 6,
  uses: 1,
  walk: 0.8,
  mentions: 0.6,
  tested: 1,
  testOf: 0.3,
  hint: 0.6,
  twin: -1,
  inherited: 5,
}
export const tables: Record<Shape, FileWeights> = {
  question: start,
  report: start,
  trace: start,
  name: start,
  diff: start,
}

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
  /** Files that are ranked because they relate to the best ones. */
  related: 20,
  longestLine: 400,
}

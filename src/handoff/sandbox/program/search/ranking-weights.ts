// Every number the ranking rests on, in one place. They were found by hand on questions about a handful of repositories and checked on others;
// the ranking is flat around them, so none of them is worth more digits.

export const weights = {
  /** What a word counts for, before its rarity: words of asking, short forms, beginnings of words, terms that came from elsewhere. */
  questionWord: 0.5,
  abbreviation: 0.6,
  prefix: 0.6,
  extraTerm: 0.4,

  /** BM25: how fast repetition stops to matter, and how much length does. */
  saturation: 2,
  lengthPenalty: 0.6,
  /** No place counts as shorter than this part of the average. */
  leastLength: 0.3,
  /** How often a word in these places counts as said. */
  ownName: 3,
  enclosingName: 2.5,
  path: 2,
  filePath: 2,
  /** Names that the question describes well, and neighbouring words of the question that stand on one line. */
  nameCoverage: 0.5,
  neighbours: 0.15,

  /** What a file is, as a factor. */
  test: 0.75,
  testWhenAsked: 0.9,
  documentation: 0.6,
  documentationWhenAsked: 0.8,
  stub: 0.5,
  example: 0.85,

  /** A file's rank from its best, second and third place and from the file as a whole. */
  secondRegion: 0.3,
  thirdRegion: 0.3,
  wholeFile: 0.3,

  /**
   * What a question names outright gains as much as the best file has: a path from
   * elsewhere that only ends alike, less.
   */
  namedElsewhere: 0.3,
  /** How good every place of a file is at least that is named without lines, as a part of the best place. */
  namedRegion: 0.3,

  /** Widening, as parts of the best file's rank. */
  definition: 0.1,
  testedFile: 0.2,
  testOf: 0.05,
  imported: 0.03,
  mention: 0.1,
  region: 0.2,
  hint: 0.1,
}

export const sizes = {
  /** Files that are looked at closely. */
  candidates: 120,
  /** Lines of a definition that is taken whole, and of the windows that longer ones fall into. */
  whole: 60,
  window: 40,
  stride: 30,
  /** Files whose best place is shown before any file shows a second one. */
  shownFiles: 14,
  /** Files whose places compete for room. */
  competing: 40,
  longestLine: 400,
}

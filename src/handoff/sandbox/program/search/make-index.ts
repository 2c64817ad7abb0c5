// Makes the index of a commit for the search, in two files. The table is small and read whole: all directories and searchable files with the places of
// their objects in the stored tar, and the list of pages. The pages are read one by one: which words and identifiers stand in which blocks of 32
// lines, where names are defined, and the files that are not searched.
//
//   table   gzip of: a line of JSON; the pages of words, identifiers, names and other files; the commit's place; directories; files
//   pages   see sorted-pages.ts
import { gzipSync } from 'node:zlib'
import type { Outline } from '../../../domain/survey.js'
import type { Entry } from '../survey/git-tree.js'
import { type ByteWriter, createWriter } from './bytes.js'
import { type GitCorpus, isCitable, largestFile, openCorpus } from './corpus.js'
import { fileState, indexVersion } from './read-index.js'
import { blockOfLine, blocksOf, forEachPart, identifierEnd, identifierStart, isPlainWord } from './scan-words.js'
import { createPageWriter, inOrder, type Page, type PageWriter, writePageList } from './sorted-pages.js'
import { isBinary, type SourceFile } from './source-files.js'
import { locateObjects, type Place } from './stored-objects.js'
import { createWordTable } from './word-table.js'

interface Clone {
  /** Bare. */
  directory: string
  commit: string
  /** The tar that is stored. */
  tar: string
  /** Called when the words are counted. */
  readOutline(): Promise<Outline>
}

interface Indexed {
  corpus: GitCorpus
  rootTree: string
  /** By the id of the object. */
  places: ReadonlyMap<string, Place>
}

export async function makeIndex({
  directory,
  commit,
  tar,
  readOutline,
}: Clone): Promise<{ table: Buffer; pages: Buffer }> {
  const corpus = await openCorpus(directory, commit)
  const { places, rootTree } = await locateObjects(tar, commit)
  const indexed = { corpus, places, rootTree }
  const pages = createPageWriter()
  const states = new Map<number, FileState>()
  const wordTables = await indexWords(corpus, states)
  const lists = [
    ...wordTables.map((table) => {
      table.write(pages)
      return pages.endTable()
    }),
    writeNames(pages, corpus.files, await readOutline()),
    writeOtherFiles(pages, indexed),
  ]
  const kinds = [...new Set(corpus.files.map(({ kind }) => kind))]
  const grammars = [...new Set(corpus.files.map(({ grammar }) => grammar))]
  const head = { version: indexVersion, commit, kinds, grammars, unsearched: corpus.unsearched }
  const table = createWriter()
  table.bytes(Buffer.from(`${JSON.stringify(head)}\n`))
  for (const list of lists) writePageList(table, list)
  const writePlace = createPlaceWriter(table, places)
  writePlace(commit)
  const folders = writeFolders(table, indexed, writePlace)
  table.number(corpus.files.length)
  for (const file of corpus.files) {
    const { state, size, lines } = states.get(file.index) ?? { state: fileState.unread, size: file.size, lines: 0 }
    table.number(folders.get(file.directory) ?? 0)
    table.text(file.name)
    table.number(kinds.indexOf(file.kind) * 8 + Number(file.isExample) * 4 + state)
    table.number(grammars.indexOf(file.grammar))
    table.number(size)
    if (state === fileState.text) table.number(lines)
    writePlace(file.blob)
  }
  return { table: gzipSync(table.take()), pages: pages.file() }
}

/** A question names none that is longer. */
const longestIdentifier = 100

interface FileState {
  state: number
  size: number
  lines: number
}

async function indexWords(corpus: GitCorpus, states: Map<number, FileState>) {
  const words = createWordTable({ ignoreCase: true, hashed: false })
  const identifiers = createWordTable({ ignoreCase: false, hashed: true })
  let firstBlock = 0
  await corpus.readAll((file, bytes) => {
    const { size } = file
    if (isBinary(bytes, size)) {
      states.set(file.index, { state: fileState.binary, size, lines: 0 })
      return
    }
    let end = 0
    const lines = forEachPart(bytes, size, (from, to, line) => {
      const block = firstBlock + blockOfLine(line)
      const start = identifierStart(bytes, from)
      const isNext = from >= end
      if (isNext) end = identifierEnd(bytes, to)
      const isPlain = start === from && end === to && isPlainWord(bytes, from, to)
      words.add(bytes, from, to, block, isPlain)
      if (isNext && !isPlain && end - start <= longestIdentifier) identifiers.add(bytes, start, end, block, true)
    })
    states.set(file.index, { state: fileState.text, size, lines })
    firstBlock += blocksOf(lines)
  })
  return [words, identifiers]
}

/** Where the object of an id is in the tar: the distance from the end of the last one, mostly none. An object that is not there has length 0. */
function createPlaceWriter(table: ByteWriter, places: ReadonlyMap<string, Place>): (id: string) => void {
  let end = 0
  return (id) => {
    const { offset, length } = places.get(id) ?? { offset: end, length: 0 }
    table.number(offset < end ? (end - offset) * 2 - 1 : (offset - end) * 2)
    table.number(length)
    end = offset + length
  }
}

/** Returns the number of each directory. */
function writeFolders(table: ByteWriter, { corpus, rootTree }: Indexed, writePlace: (id: string) => void) {
  const folders = new Map<string, number>()
  table.number(corpus.tree.folders.length)
  for (const { path, parent, tree } of corpus.tree.folders) {
    folders.set(path, folders.size)
    table.text(path)
    writePlace(parent ? tree : rootTree)
  }
  return folders
}

/** By name: the number of each file from 1 on, or 0 and the path; the line; how many lines, or 0. */
function writeNames(pages: PageWriter, searched: readonly SourceFile[], { files }: Outline): Page[] {
  const value = createWriter()
  const numbers = new Map(searched.map(({ path, index }) => [path, index + 1]))
  const all = Object.entries(files).flatMap(([path, definitions]) => definitions.map((one) => ({ path, ...one })))
  const sites = Map.groupBy(all, ({ name }) => name)
  for (const [key, name] of inOrder(sites.keys())) {
    for (const { path, line, end } of sites.get(name)!) {
      const number = numbers.get(path) ?? 0
      value.number(number)
      if (number === 0) value.text(path)
      value.number(line)
      value.number(end === undefined ? 0 : Math.max(0, end - line) + 1)
    }
    pages.add(key, value.take())
  }
  return pages.endTable()
}

/** Files that are not searched and may be read by name: by path, with place. */
function writeOtherFiles(pages: PageWriter, { corpus, places }: Indexed) {
  const searched = new Set(corpus.files.map(({ path }) => path))
  const isOther = (entry: Entry) =>
    !searched.has(entry.path) && entry.mode.startsWith('100') && entry.size <= largestFile && isCitable(entry)
  const others = new Map(corpus.tree.entries.filter(isOther).map(({ path, blob }) => [path, blob]))
  const value = createWriter()
  for (const [key, path] of inOrder(others.keys())) {
    createPlaceWriter(value, places)(others.get(path)!)
    pages.add(key, value.take())
  }
  return pages.endTable()
}

// Where names are defined, in pages. Of a name the first bits of its hash are kept, and names are in the order of these: their text would take most of
// the bytes, and one of them may be a credential that was committed.
import { createHash } from 'node:crypto'
import type { ByteReader, ByteWriter } from './bytes.js'
import type { DefinitionSite } from './definition-sites.js'
import { forEachPage, onlyKey, type Page, type PageFile, type PageList, type ReadPages } from './sorted-pages.js'
import {
  readSteps,
  type SymbolCoder,
  SymbolCounter,
  SymbolReader,
  SymbolTables,
  SymbolWriter,
  writeSteps,
} from './symbol-coder.js'

/** Where one name is defined. */
class Sites {
  count = 0
  /** The number of each searchable file from 1 on, or 0 for another one, which has a path. */
  files: number[] = []
  paths: string[] = []
  lines: number[] = []
  /** How many lines, or 0. */
  lengths: number[] = []

  add(site: DefinitionSite, numbers: ReadonlyMap<string, number>): void {
    const { path, line, end } = site
    const file = numbers.get(path) ?? 0
    this.files[this.count] = file
    this.paths[this.count] = file === 0 ? path : ''
    this.lines[this.count] = line
    this.lengths[this.count++] = end === undefined ? 0 : Math.max(0, end - line) + 1
  }

  list(paths: readonly { path: string }[]): DefinitionSite[] {
    return this.files.slice(0, this.count).map((file, at) => {
      const [line, length] = [this.lines[at]!, this.lengths[at]!]
      const path = file === 0 ? this.paths[at]! : (paths[file - 1]?.path ?? '')
      return { path, line, ...(length === 0 ? {} : { end: line + length - 1 }) }
    })
  }
}

const at = { names: 0, distance: 1, sites: 2, file: 3, line: 4, length: 5, pathBytes: 6, pathByte: 7 }
const contexts = Object.keys(at).length

function codeSites(coder: SymbolCoder, sites: Sites): void {
  sites.count = coder.number(at.sites, sites.count - 1) + 1
  for (let index = 0; index < sites.count; index++) {
    sites.files[index] = coder.number(at.file, sites.files[index]!)
    if (sites.files[index] === 0) sites.paths[index] = codeText(coder, sites.paths[index] ?? '')
    sites.lines[index] = coder.number(at.line, sites.lines[index]!)
    sites.lengths[index] = coder.number(at.length, sites.lengths[index]!)
  }
}

function codeText(coder: SymbolCoder, text: string): string {
  const bytes = Buffer.from(text)
  const length = coder.number(at.pathBytes, bytes.length)
  return Buffer.from(
    Array.from({ length: Math.min(length, longestPath) }, (_, index) => coder.number(at.pathByte, bytes[index]!)),
  ).toString()
}

const longestPath = 10_000
const namesInPage = 1_000
/** Symbols of a page, unless it is false. */
const mostSymbols = 5_000_000

/** Bits of a hash beside those that tell the names apart: of 16 million names that are not there one is taken for another. */
const hashBits = 24
const keyBytes = 6
/** Behind a larger one a page begins. */
const largestDistance = 2 ** 30

/** The bits of its hash that are kept; all others are 0. */
const keyOf = (name: string, unit: number) => {
  const hash = createHash('sha256').update(name).digest().readUIntBE(0, keyBytes)
  return hash - (hash % unit)
}

function bytesOf(key: number): Buffer {
  const bytes = Buffer.alloc(keyBytes)
  bytes.writeUIntBE(key, 0, keyBytes)
  return bytes
}

/** Writes the pages, and to the table what a reader needs beside their list. */
export function writeNames(
  file: PageFile,
  to: ByteWriter,
  definitions: ReadonlyMap<string, readonly DefinitionSite[]>,
  numbers: ReadonlyMap<string, number>,
): Page[] {
  const bits = Math.min(keyBytes * 8, hashBits + 32 - Math.clz32(definitions.size))
  const unit = 2 ** (keyBytes * 8 - bits)
  const names = [...definitions].map(([name, own]) => ({ key: keyOf(name, unit), own })).sort((a, b) => a.key - b.key)
  const pages: (typeof names)[] = []
  for (const name of names) {
    const page = pages.at(-1)
    const distance = page ? (name.key - page.at(-1)!.key) / unit : 0
    if (page && (distance === 0 || (distance < largestDistance && page.length < namesInPage))) page.push(name)
    else pages.push([name])
  }
  const code = (coder: SymbolCoder, page: typeof names) => {
    let before = page[0]!.key
    coder.number(at.names, page.length)
    for (const { key, own } of page) {
      coder.number(at.distance, (key - before) / unit)
      const sites = new Sites()
      for (const site of own) sites.add(site, numbers)
      codeSites(coder, sites)
      before = key
    }
  }
  const counter = new SymbolCounter(contexts)
  for (const page of pages) code(counter, page)
  const symbols = new SymbolWriter(counter.steps())
  for (const page of pages) {
    code(symbols, page)
    file.add(bytesOf(page[0]!.key), symbols.take())
  }
  to.number(bits)
  writeSteps(to, counter.steps())
  return file.endTable()
}

/** `table`: behind what was written there. */
export function readNames(
  table: ByteReader,
  files: readonly { path: string }[],
): (list: PageList, wanted: ReadonlySet<string>, read: ReadPages) => Promise<Map<string, DefinitionSite[]>> {
  const unit = 2 ** Math.max(0, keyBytes * 8 - table.number())
  const tables = new SymbolTables(readSteps(table, contexts))
  return async (list, wanted, read) => {
    const found = new Map<string, DefinitionSite[]>()
    const names = new Map([...wanted].map((name) => [keyOf(name, unit), name]))
    const ranges = [...names.keys()].map((key) => onlyKey(bytesOf(key)))
    const sites = new Sites()
    await forEachPage(list, ranges, read, (stored, first) => {
      const symbols = new SymbolReader(tables, stored, mostSymbols)
      let key = first.readUIntBE(0, keyBytes)
      for (let left = symbols.number(at.names); left > 0; left--) {
        key += symbols.number(at.distance) * unit
        codeSites(symbols, sites)
        const name = names.get(key)
        if (name !== undefined) found.set(name, [...(found.get(name) ?? []), ...sites.list(files)])
      }
    })
    return found
  }
}

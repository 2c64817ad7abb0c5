// How many tokens a text is for a model. Exact for OpenAI's o200k vocabulary, which needs nine megabytes of data: they are read when the
// first text is counted, never before. For every other model the count is a bound with a margin.
//
// What we promise, and test against the exact tokenizer:
//   exact model   the number of tokens, whatever the text; names of reserved tokens inside it count as the text they are.
//   other model   never less than o200k's number, never more than the UTF-8 bytes. To o200k's number are added two thirds of a token for
//                 each digit (many vocabularies spend one on every digit), one or two for each character outside ASCII and a quarter for
//                 each of a long run of blanks; and then half as much again. Measured on 1,600 files of six repositories and on thirty
//                 scripts and shapes of text, no text had more tokens than that in the vocabularies of cl100k, Llama 3, Qwen 3,
//                 DeepSeek 4, Mistral Tekken, Kimi 3 and GLM 5; source as a whole filled 63 to 70 hundredths of it.
//   data missing  the UTF-8 bytes: no byte-level vocabulary makes more tokens of a text.
//
// For a bundler: put `vocab.htk` (of @hypertok/vocab-o200k) and `hypertok_wasm_core_bg.wasm` (of hypertok/wasm/single) beside the bundle,
// as they are or compressed with brotli (`….br`, a seventh of the size). Unbundled they are found in the packages.
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

/** The tokenizer's code and the vocabulary, as bytes. */
export interface TokenFiles {
  wasm: Uint8Array
  vocabulary: Uint8Array
}

export type Counting = (text: string) => Promise<number>

/** Whether the model's vocabulary is o200k. Prefixes of resellers (`openai/`) and of tuned models (`ft:`) are seen through. */
export function isO200k(model: string): boolean {
  return /(^|[/:])(chatgpt-4o|gpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|o[134])($|[-.:@])/.test(model.toLowerCase())
}

export function makeCounting(model: string, files: () => Promise<TokenFiles> = findTokenFiles): Counting {
  const exactModel = isO200k(model)
  let loading: Promise<((text: string) => number) | undefined> | undefined
  return async (text) => {
    if (text === '') return 0
    loading ??= loadO200k(files).catch(() => undefined)
    const exact = await loading
    if (exact === undefined) return Buffer.byteLength(text)
    return exactModel ? exact(text) : bound(exact(text), text)
  }
}

/** The margin for a vocabulary we do not know. */
export function bound(exact: number, text: string): number {
  let extra = 0
  for (const [run] of text.matchAll(/\d+|[\t-\r ]{24,}|[^\x00-\x7f]+/g)) {
    const first = run.charCodeAt(0)
    if (first > 0x7f) extra += run.length
    else extra += first > 0x20 ? (run.length * 2) / 3 : run.length / 4
  }
  return Math.min(Buffer.byteLength(text), Math.ceil(1.5 * (exact + extra)))
}

/** Exact counting. Long texts are counted in parts, so that the tokenizer's memory does not grow with them. */
export async function loadO200k(files: () => Promise<TokenFiles> = findTokenFiles): Promise<(text: string) => number> {
  const [{ fromBytes }, { wasm, vocabulary }] = await Promise.all([import('hypertok'), files()])
  const moduleSource = new Uint8Array(wasm)
  const tokenizer = await fromBytes(vocabulary, { tier: 'single', moduleSource })
  const count = (part: string) => tokenizer.encodeSync(part, { reserved: { match: [] } }).length
  return (text) => partsOf(text, 256 * 1024).reduce((sum, part) => sum + count(part), 0)
}

/**
 * Cuts after a line's end where the next line begins with visible ASCII other than a slash. The vocabulary's pre-tokenizer always begins a
 * new piece there, so that the parts' tokens add up to the whole's. A text without such a place stays in one part.
 */
export function partsOf(text: string, size: number): string[] {
  const parts: string[] = []
  const edge = /\n(?=[!-.0-~])/g
  let start = 0
  while (text.length - start > size) {
    edge.lastIndex = start + size
    const found = edge.exec(text)
    if (found === null) break
    parts.push(text.slice(start, found.index + 1))
    start = found.index + 1
  }
  parts.push(text.slice(start))
  return parts
}

/** Beside this file (a bundle) first, then in the packages. */
export async function findTokenFiles(): Promise<TokenFiles> {
  const [wasm, vocabulary] = await Promise.all([
    firstOf([
      new URL('hypertok_wasm_core_bg.wasm.br', import.meta.url),
      new URL('hypertok_wasm_core_bg.wasm', import.meta.url),
      () => import.meta.resolve('hypertok/wasm/single/hypertok_wasm_core_bg.wasm'),
    ]),
    firstOf([new URL('vocab.htk.br', import.meta.url), async () => (await import('@hypertok/vocab-o200k')).vocabulary]),
  ])
  return { wasm, vocabulary }
}

type Place = URL | (() => string | Promise<URL>)

async function firstOf(places: Place[]): Promise<Uint8Array> {
  let last: unknown
  for (const place of places) {
    try {
      const url = new URL(typeof place === 'function' ? await place() : place)
      const bytes = await readFile(url)
      return url.pathname.endsWith('.br') ? await promisify(brotliDecompress)(bytes) : bytes
    } catch (error) {
      last = error
    }
  }
  throw last
}

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  bound,
  findTokenFiles,
  isO200k,
  loadO200k,
  makeCounting,
  partsOf,
} from '../../../src/handoff/clients/count-tokens.js'
import { anyCharacter } from '../../support/characters.js'
import { makeReference } from '../../support/reference-tokenizer.js'

let exact: (text: string) => number
let reference: (text: string) => number

beforeAll(async () => {
  exact = await loadO200k()
  reference = await makeReference()
})

/** Texts that have been trouble for tokenizers: by shape rather than by chance. */
const awkward: Record<string, string> = {
  prose: 'It answers questions about a repository after the machine that read it is gone.\n'.repeat(20),
  code: 'export async function readFileSync(path: string): Promise<Buffer> {\n\treturn await open(path)\n}\n'.repeat(
    20,
  ),
  contractions: "don't DON'T we'll 'tis they'Re 's 'S it's",
  digits: '1234567890'.repeat(50),
  hexadecimal: 'deadbeef0123456789abcdef'.repeat(20),
  base64: Buffer.from(Array.from({ length: 900 }, (_, index) => (index * index * 31) & 255)).toString('base64'),
  chinese: '我们在仓库里读取所有文件然后写出一份摘要。'.repeat(10),
  japanese: 'このリポジトリは何をするためのものですか。'.repeat(10),
  korean: '이 저장소는 무엇을 하는 것인가요?'.repeat(10),
  arabic: 'هذا المستودع يقرأ الملفات'.repeat(10),
  hindi: 'यह भंडार फाइलें पढ़ता है'.repeat(10),
  amharic: 'ይህ ማከማቻ ፋይሎችን ያነባል'.repeat(10),
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈🔥✅'.repeat(20),
  'private use': '\u{10FFFD}\u{E000}\u{F0000}'.repeat(20),
  combining: 'a\u0301\u0327'.repeat(60),
  boxes: '┌──┬──┐│├──┼──┤'.repeat(20),
  blanks: ' '.repeat(1_000),
  tabs: '\t'.repeat(300),
  'line ends': '\r\n'.repeat(100) + '\n'.repeat(100),
  'odd blanks': '\u00a0\u2003\u2028\u3000\u0085'.repeat(20),
  dashes: '-'.repeat(1_000),
  'one letter': 'a'.repeat(5_000),
  'no vowels': 'qzxjkvwpfgbt'.repeat(100),
  capitals: 'QZXJKVWPFGBT'.repeat(100),
  signs: '!@#$%^&*()_+{}|:"<>?~`-=[]\\;\',./'.repeat(30),
  controls: '\x00\x01\x1b[0m\x7f'.repeat(30),
  'byte order marks': `\uFEFFimport x\n\uFEFF${'\uFEFF'.repeat(9)}`,
  'lone surrogates': `a\ud800b\udc00${'\ud83d'.repeat(20)}`,
  'reserved names': '<|endoftext|><|endofprompt|><|fim_prefix|>',
  'one line': `{"a":[${'0,'.repeat(2_000)}0]}`,
}

describe('the exact count', () => {
  it('is what the vocabulary is known to give', () => {
    expect(exact('hello world')).toBe(2)
    expect(exact('')).toBe(0)
    expect(exact(' '.repeat(5))).toBe(1)
    expect(exact('<|endoftext|>')).toBeGreaterThan(1)
  })

  for (const [name, text] of Object.entries(awkward)) {
    it(`agrees with a plain tokenizer on ${name}`, () => {
      expect(exact(text)).toBe(reference(text))
    })
  }

  it('agrees with a plain tokenizer on any text', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
      fc.constantFrom('\n', '\r\n', ' ', '\t', "'s", '/', '\n//', '1', '12', 'Ab', 'aB', '  \n  '),
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        (pieces) => exact(pieces.join('')) === reference(pieces.join('')),
      ),
      {
        numRuns: 500,
      },
    )
  })

  it('is the same when a text is counted in parts', () => {
    const line = fc.constantFrom(
      'const a = 1',
      '  indented',
      '',
      '10| // a',
      '=== end',
      '\t}',
      '/ slash',
      "'quoted'",
      '私は',
      '\r',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), fc.integer({ min: 1, max: 30 }), (lines, size) => {
        const text = lines.join('\n')
        const parts = partsOf(text, size)
        expect(parts.join('')).toBe(text)
        return parts.reduce((sum, part) => sum + exact(part), 0) === exact(text)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the bound for other vocabularies', () => {
  it('is never less than the exact count and never more than the bytes, for awkward texts', () => {
    for (const [name, text] of Object.entries(awkward)) {
      expect(bound(exact(text), text), name).toBeGreaterThanOrEqual(exact(text))
      expect(bound(exact(text), text), name).toBeLessThanOrEqual(Buffer.byteLength(text))
    }
  })

  it('is so for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (text) => {
        const tokens = exact(text)
        const most = bound(tokens, text)
        return tokens <= most && most <= Buffer.byteLength(text)
      }),
      { numRuns: 1_000 },
    )
  })

  it('leaves room for one token in each digit, as many vocabularies have it', () => {
    expect(bound(exact(awkward['digits']!), awkward['digits']!)).toBe(500)
  })

  it('is not wasteful: for plain source it is within twice the exact count', () => {
    for (const name of ['prose', 'code']) {
      expect(bound(exact(awkward[name]!), awkward[name]!)).toBeLessThanOrEqual(2 * exact(awkward[name]!))
    }
  })
})

describe('counting for a model', () => {
  it('is exact where the model has this vocabulary, whoever resells it', async () => {
    for (const name of [
      'gpt-4o',
      'gpt-4o-mini-2024-07-18',
      'openai/gpt-5.1',
      'o3-mini',
      'ft:gpt-4o:acme::1',
      'gpt-oss:20b',
      'gpt-4.1',
      'chatgpt-4o-latest',
    ]) {
      expect(isO200k(name), name).toBe(true)
    }
    for (const name of [
      'gpt-4',
      'gpt-4-turbo',
      'gpt-3.5-turbo',
      'llama3.3',
      'solar-o3x',
      'claude-opus-5',
      'qwen3',
      'offline-extractive',
      'not-gpt-4o',
    ]) {
      expect(isO200k(name), name).toBe(false)
    }
    expect(await makeCounting('gpt-4o')('hello world')).toBe(2)
    expect(await makeCounting('llama3.3')('hello world')).toBe(3)
  })

  it('reads the data once, at the first text and not before', async () => {
    let read = 0
    const count = makeCounting('gpt-4o', () => {
      read += 1
      return findTokenFiles()
    })
    expect(await count('')).toBe(0)
    expect(read).toBe(0)
    expect(await Promise.all([count('hello world'), count('hello')])).toEqual([2, 1])
    expect(read).toBe(1)
  })

  it('falls back to the bytes where the data is missing', async () => {
    const count = makeCounting('gpt-4o', () => Promise.reject(new Error('no such file')))
    expect(await count('héllo')).toBe(6)
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => exact(text) <= Buffer.byteLength(text)))
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeRedactor, makeStreamRedactor, redacted } from '../../../../src/handoff/domain/secrets/redactor.js'
import { anyText } from '../any-text.js'

const runs = process.env['LONG'] ? 10_000 : 200

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const secretOf = (minLength: number, maxLength: number, signs = '') =>
  fc.string({ unit: fc.constantFrom(...letters, ...signs), minLength, maxLength })
const key = secretOf(16, 80, '_-')

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Encodings in which a key may leak. */
const encodings: [string, (secret: string, noise: string) => string][] = [
  ['as it is', (secret) => secret],
  ['inside other words', (secret, noise) => `${noise}${secret}${noise}`],
  ['in base64', base64],
  ['in base64 behind something', (secret, noise) => base64(`${noise}${secret}`)],
  ['in base64 before something', (secret, noise) => base64(`${secret}${noise}`)],
  ['in base64 for addresses', (secret, noise) => Buffer.from(`${noise}${secret}`).toString('base64url')],
  ['in hexadecimal', (secret) => Buffer.from(secret).toString('hex')],
  ['in large hexadecimal', (secret) => Buffer.from(secret).toString('hex').toUpperCase()],
  ['for an address', encodeURIComponent],
  ['for JSON', (secret) => JSON.stringify(secret)],
]

/** The longest piece of the secret, letters and digits alone, that is still there. */
function longestLeft(text: string, secret: string): number {
  const left = text.replace(/[^A-Za-z0-9]/g, '')
  const bare = secret.replace(/[^A-Za-z0-9]/g, '')
  let longest = 0
  for (let at = 0; at < bare.length; at++)
    while (left.includes(bare.slice(at, at + longest + 1)) && at + longest < bare.length) longest++
  return longest
}

describe('a secret that we hold', () => {
  it.each(encodings)('does not get out %s', (_, dress) => {
    fc.assert(
      fc.property(key, secretOf(0, 7), (secret, noise) => {
        const dressed = dress(secret, noise)
        const shown = makeRedactor([secret])(`The answer: ${dressed}.`)
        expect(shown).toContain(redacted)
        expect(longestLeft(shown, secret)).toBeLessThan(12)
        // Of what it was dressed in, no long piece is left either.
        expect(longestLeft(shown, dressed)).toBeLessThan(24)
      }),
      { numRuns: Math.ceil(runs / 10) },
    )
  })

  it('is taken out whole, and nothing else is', () => {
    fc.assert(
      fc.property(key, (secret) => {
        const redact = makeRedactor([secret])
        expect(redact(`«${secret}»`)).toBe(`«${redacted}»`)
        expect(redact(`«${secret}${secret}»`)).toBe(`«${redacted}»`)
      }),
      { numRuns: runs },
    )
  })

  it('is found at the start and at the end of a text', () => {
    const redact = makeRedactor(['a-key-of-ours-0123'])
    expect(redact('a-key-of-ours-0123')).toBe(redacted)
    expect(redact('a-key-of-ours-0123 a-key-of-ours-0123')).toBe(`${redacted} ${redacted}`)
  })

  it('inside a private key that comes in pieces has nothing of that key shown', () => {
    const key = `-----BEGIN RSA PRIVATE KEY-----\nAKIAQ7Z3XK5M2P9TLR4W\n${'MIIEow3xK9'.repeat(12)}\n-----END RSA PRIVATE KEY-----`
    const text = `x y ${key} z`
    for (let cut = 0; cut <= text.length; cut += 1) {
      const stream = makeStreamRedactor([])
      expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(`x y ${redacted} z`)
    }
  })

  it('is found when it is short, as a whole', () => {
    const redact = makeRedactor(['hunter', 'Pa55w0rd'])
    expect(redact('it is hunter, not hunters')).toBe(`it is ${redacted}, not hunters`)
    expect(redact(`it is Pa55w0rd or ${base64('Pa55w0rd')} or ${Buffer.from('Pa55w0rd').toString('hex')}`)).not.toMatch(
      /Pa55|UGE1|5061/,
    )
    expect(redact('xPa55w0rdx')).toBe(`x${redacted}x`)
    expect(redact('hunter')).toBe(redacted)
    expect(redact('xhunter')).toBe('xhunter')
    expect(redact('hunterx')).toBe('hunterx')
  })

  it('is none when it is empty, tiny or a placeholder', () => {
    const text = 'none of the test pods use ollama; x'
    expect(makeRedactor(['', ' ', 'x', 'use', 'none', 'test', 'ollama', 'lm-studio'])(text)).toBe(text)
  })

  it('may hold any characters', () => {
    fc.assert(
      fc.property(anyText(40), (secret) => {
        const clean = secret.toWellFormed().trim()
        if (clean.length < 8) return
        expect(makeRedactor([secret])(`"${clean}"`)).not.toContain(clean)
      }),
      { numRuns: runs },
    )
  })

  it('is taken out of private keys without hiding their headers elsewhere', () => {
    const pem = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEpAIBAAKCAQEA7x9Zq'.repeat(20)}\n-----END RSA PRIVATE KEY-----`
    expect(makeRedactor([pem])("if (text.includes('-----BEGIN RSA PRIVATE KEY-----')) return")).not.toContain(redacted)
    expect(makeRedactor([pem])(`x ${pem} y`)).toBe(`x ${redacted} y`)
  })

  it('changes nothing more the second time', () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 3 }), anyText(60), fc.nat(60), (secrets, text, at) => {
        const redact = makeRedactor(secrets)
        const once = redact(`${text.slice(0, at)}${secrets.join('')}${text.slice(at)}`)
        expect(redact(once)).toBe(once)
      }),
      { numRuns: runs },
    )
  })
})

const jwt = `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${'dozjgNryP4J3jVmNHl0w5N'.repeat(2)}`
const keyLine = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj'
const shaped: [string, string][] = [
  ['a classic token', `ghp_${'aB3dE6gH9j'.repeat(4).slice(0, 36)}`],
  ['an installation token', `ghs_${'aB3dE6gH9j'.repeat(4).slice(0, 36)}`],
  ['a long installation token', `ghs_123456_${jwt}`],
  ['a fine-grained token', `github_pat_11ABCDEFG0_${'aB3dE6gH9j'.repeat(5)}`],
  ['a model key', `sk-${'aB3dE6gH9j'.repeat(4)}`],
  ['a model key of a project', `sk-proj-${'aB3_E6-H9j'.repeat(10)}`],
  ['another model key', `sk-ant-api03-${'aB3_E6-H9j'.repeat(8)}`],
  ['a sandbox key', `e2b_${'0a1b2c3d4e'.repeat(4)}`],
  ['a drive key', `drive9_${base64(jwt)}`],
  ['an older drive key', `dat9_${base64(jwt)}`],
  ['a cloud key', 'AKIAIOSFODNN7ABCDEFG'],
  ['a chat token', 'xoxb-123456789012-abcdefABCDEF'],
  ['a web token', jwt],
  ['a private key', `-----BEGIN PRIVATE KEY-----\n${`${keyLine}\n`.repeat(10)}-----END PRIVATE KEY-----`],
  [
    'a private key in one line',
    `-----BEGIN EC PRIVATE KEY-----\\n${`${keyLine}\\n`.repeat(3)}-----END EC PRIVATE KEY-----`,
  ],
  ['a private key without its end', `-----BEGIN OPENSSH PRIVATE KEY-----\n${keyLine}\n${keyLine}`],
  ['a clone password', `x-access-token:${'aB3dE6gH9j'.repeat(4)}`],
]

describe('what has the shape of a credential', () => {
  it.each(shaped)('is taken out: %s', (name, secret) => {
    const text = `const key = "${secret}${name === 'a clone password' ? '@host' : ''}"`
    const shown = makeRedactor([])(text)
    expect(shown).toContain(redacted)
    expect(longestLeft(shown, secret)).toBeLessThan(12)
  })

  it('is not seen in ordinary code', () => {
    const redact = makeRedactor([
      'hR7s0mEtHiNgL0ngAndRand0m',
      'sk-proj-Zx8kQ2mN4pL6rT9vW1yB3dF5',
      'e2b_9f8e7d6c5b4a39281706f5e4d3c2b1a0',
    ])
    const root = join(import.meta.dirname, '../../../..')
    let characters = 0
    for (const path of ordinaryFiles(root)) {
      const text = readFileSync(path, 'utf8')
      characters += text.length
      expect(makeRedactor([])(text) === text || path).toBe(true)
      expect(redact(text) === text || path).toBe(true)
    }
    expect(characters).toBeGreaterThan(1_000_000)
  })

  it('is not seen in text that only speaks of it', () => {
    const text = [
      'class="sk-folding-cube sk-three-bounce-with-a-long-name"',
      'Tokens begin with ghp_ or github_pat_; keys with sk-, e2b_ or drive9_.',
      "if (line.startsWith('-----BEGIN PRIVATE KEY-----')) throw new Error('a private key was found in this place')",
      'the header of a JWT is eyJhbGciOiJIUzI1NiJ9',
      'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
      'a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0',
      'npm_config_registry npm_lifecycle_event hf_transfer AKIA',
    ].join('\n')
    expect(makeRedactor([])(text)).toBe(text)
  })
})

/** The sources of some packages, as they lie on every machine that runs this. */
function ordinaryFiles(root: string): string[] {
  const folders = [
    'node_modules/commonmark/lib',
    'node_modules/typescript/lib',
    'node_modules/openai',
    'node_modules/vitest/dist',
    'node_modules/yaml/dist',
  ]
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:m?js|ts|json|md)$/.test(entry.name))
      .slice(0, 40)
      .map((entry) => join(root, folder, entry.name)),
  )
}

/** What comes out when the text is pushed in pieces of these lengths. */
function streamed(secrets: string[], text: string, lengths: number[]): { shown: string; pieces: string[] } {
  const stream = makeStreamRedactor(secrets)
  const pieces: string[] = []
  for (let at = 0, index = 0; at < text.length; index++) {
    const length = lengths[index % lengths.length]!
    pieces.push(stream.push(text.slice(at, at + length)))
    at += length
  }
  pieces.push(stream.end())
  return { shown: pieces.join(''), pieces }
}

describe('a text that comes in pieces', () => {
  it('becomes what the whole would have become, however it is cut', () => {
    const noise = fc.oneof(
      anyText(20),
      fc.constantFrom('sk-', 'ghp_', 'eyJ', '-----BEGIN ', '-----', ' ', '\n', 'A word. ', '-'.repeat(70)),
    )
    fc.assert(
      fc.property(
        fc.array(key, { minLength: 1, maxLength: 2 }),
        fc.array(fc.tuple(noise, fc.constantFrom(...encodings), fc.boolean()), { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        (secrets, parts, lengths) => {
          const text = parts
            .map(([words, [, dress], hidden]) => words + (hidden ? dress(secrets[0]!, '') : ''))
            .join('')
          expect(streamed(secrets, text, lengths).shown).toBe(makeRedactor(secrets)(text))
        },
      ),
      { numRuns: runs },
    )
  })

  it.each(shaped)('does not let a shape through in two halves: %s', (name, secret) => {
    const text = `It is "${secret}${name === 'a clone password' ? '@host' : ''}", he said.`
    for (const lengths of [[1], [7], [3, 11], [1_000_000]]) {
      expect(streamed([], text, lengths).shown).toBe(makeRedactor([])(text))
    }
  })

  it('takes no credential for one that begins in a part of a long word that is out already', () => {
    const text = `${'x'.repeat(4_199)}sk-${'aB3dE6gH9j'.repeat(4)}${'-'.repeat(6_000)} end`
    expect(makeRedactor([])(text)).toBe(text)
    for (const lengths of [[8_400, 1], [8_400, 50], [100]]) expect(streamed([], text, lengths).shown).toBe(text)
  })

  it('holds nothing back that is not needed', () => {
    const { pieces } = streamed(
      ['aB3dE6gH9jK2mN5pQ8'],
      'A sentence of ordinary words, and another one. '.repeat(20),
      [20],
    )
    let out = 0
    pieces.slice(0, -1).forEach((piece, index) => {
      out += piece.length
      expect((index + 1) * 20 - out).toBeLessThan(30)
    })
  })
})

describe('parts of our keys', () => {
  const long = 'q7Wm2xKp9RtL4vBn8ZcY3hGd'
  it.each([
    ['a key of five characters', ['ab12c'], 'x ab12c y', `x ${redacted} y`],
    ['a key of four characters', ['ab1c'], 'x ab1c y', 'x ab1c y'],
    ['the first half of a key of 24 characters', [long], `x ${long.slice(0, 12)} y`, `x ${redacted} y`],
    ['the second half of it', [long], `x ${long.slice(12)} y`, `x ${redacted} y`],
    ['a part of a shorter key', [long.slice(0, 23)], `x ${long.slice(0, 12)} y`, `x ${long.slice(0, 12)} y`],
    ['a word of twelve characters of a key', [`some ${long.slice(0, 12)}`], long.slice(0, 12), redacted],
    ['a shorter word of it', [`some ${long.slice(0, 11)}`], long.slice(0, 11), long.slice(0, 11)],
  ])('%s', (_, keys, text, shown) => {
    expect(makeRedactor(keys)(text)).toBe(shown)
  })
})

describe('what a stream keeps back', () => {
  const key = 'correct horse battery staple'
  const pushed = (pieces: string[], keys: string[] = [key]) => {
    const stream = makeStreamRedactor(keys)
    return pieces.map((piece) => stream.push(piece))
  }

  it.each(['\t', '\n', '\v', '\f', '\r', ' '])('a word ends at %j', (space) => {
    expect(pushed([`one${space}two`])).toEqual([`one${space}`])
  })

  it('a word does not end at another control character', () => {
    expect(pushed(['one\btwo', '\u000etwo'])).toEqual(['', ''])
  })

  it('a word without an end comes out in parts', () => {
    expect(pushed(['x'.repeat(5_000)])).toEqual([''])
    expect(pushed(['x'.repeat(5_000), 'x'.repeat(5_000)]).join('').length).toBeGreaterThan(4_000)
  })

  it('a key with spaces, from its first character on', () => {
    const stream = makeStreamRedactor([key])
    expect([stream.push('correct horse '), stream.push('battery staple and '), stream.end()]).toEqual([
      '',
      `${redacted} and `,
      '',
    ])
  })

  it('no word that only begins as a key does', () => {
    expect(pushed(['cats and '])).toEqual(['cats and '])
    expect(pushed(['correct '])).toEqual([''])
  })

  const header = '-----BEGIN PRIVATE KEY-----'
  const line = `${'aZ3k9QmW2xR7tY5u'.repeat(4)}\n`

  it('a private key, also as the first words', () => {
    const stream = makeStreamRedactor([])
    const shown = [`${header}\n`, line, line, '-----END PRIVATE KEY-----\n', 'after it '].map(stream.push)
    expect(shown.slice(0, 3)).toEqual(['', '', ''])
    expect(shown.join('') + stream.end()).toBe(`${redacted}\nafter it `)
  })

  it('nothing after a private key has ended', () => {
    expect(pushed([`${header}\n${line}-----END PRIVATE KEY-----\nafter it `])[0]).toMatch(/after it $/)
  })

  it('no other block', () => {
    expect(pushed(['-----BEGIN CERTIFICATE-----\nabc def '])).toEqual(['-----BEGIN CERTIFICATE-----\nabc def '])
  })

  it('a private key of 33,000 characters, and no longer one', () => {
    const start = `${header}\n${'\n'.repeat(32_999 - header.length)}`
    expect(pushed([start])).toEqual([''])
    expect(pushed([`${start}\n`])).toEqual([`${start}\n`])
  })

  it('a private key without an end not for ever', () => {
    expect(pushed([`${header}\n`, line.repeat(600)])[1]).not.toBe('')
  })
})

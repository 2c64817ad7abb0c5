// Which addresses of a text that is not ours stay links.
import { expect, test } from 'vitest'
import { allowedAddress } from '../../../../src/handoff/domain/markdown/allowed-links.js'

const host = 'github.com'
const long = (length: number) => `https://github.com/octo/tools/blob/main/${'x'.repeat(length)}`.slice(0, length)

test.each<[string, string]>([
  ['https://github.com/octo/tools', 'https://github.com/octo/tools'],
  ['https://github.com/octo/tools/', 'https://github.com/octo/tools/'],
  ['HTTPS://GitHub.com/octo/tools', 'https://github.com/octo/tools'],
  ['http://github.com/octo/tools', 'http://github.com/octo/tools'],
  ['https://github.com/octo/tools/blob/main/src/a.ts', 'https://github.com/octo/tools/blob/main/src/a.ts'],
  ['https://github.com/octo/tools/tree/main/src', 'https://github.com/octo/tools/tree/main/src'],
  ['https://github.com/octo/tools/blame/main/a.ts', 'https://github.com/octo/tools/blame/main/a.ts'],
  ['https://github.com/octo/tools/src/main/a.ts', 'https://github.com/octo/tools/src/main/a.ts'],
  ['https://github.com/octo/deep/tools/-/blob/main/a.ts', 'https://github.com/octo/deep/tools/-/blob/main/a.ts'],
  ['https://github.com/octo/tools/blob/main/issues/a.ts', 'https://github.com/octo/tools/blob/main/issues/a.ts'],
  ['https://github.com/octo/tools/blob/main/a.ts#L3', 'https://github.com/octo/tools/blob/main/a.ts#L3'],
  ['https://github.com/octo/tools/blob/main/a.ts#L3-L5', 'https://github.com/octo/tools/blob/main/a.ts#L3-L5'],
  ['https://github.com/octo/tools/blob/main/a.ts#L3x', 'https://github.com/octo/tools/blob/main/a.ts'],
  ['https://github.com/octo/tools/blob/main/a.ts#/#L3', 'https://github.com/octo/tools/blob/main/a.ts'],
  ['https://github.com/octo/tools/blob/main/a.ts?x=1', 'https://github.com/octo/tools/blob/main/a.ts'],
  ['https://github.com/octo/tools/blob/main/a(b)@c.ts', 'https://github.com/octo/tools/blob/main/a%28b%29%40c.ts'],
  [long(2_000), long(2_000)],
])('%s may be linked', (address, written) => {
  expect(allowedAddress(address, host)).toBe(written)
})

test.each([
  long(2_001),
  'javascript:https://github.com/octo/tools',
  'ftp://github.com/octo/tools',
  '//github.com/octo/tools',
  'see https://github.com/octo/tools',
  'https://',
  'https://evil.example/octo/tools',
  'https://github.com.evil.example/octo/tools',
  'https://github.com:444/octo/tools',
  'https://user@github.com/octo/tools',
  'https://:word@github.com/octo/tools',
  'https://github.com/',
  'https://github.com/octo',
  'https://github.com/octo/tools/settings',
  'https://github.com/octo/tools/raw/main/a.ts',
  'https://github.com/octo/tools/blob/',
  'https://github.com/octo/tools/issues/1',
  'https://github.com/octo/issues/blob/main',
  'https://github.com/octo/tools/pull/1/blob/main',
  'https://github.com/octo/commit/',
  'https://github.com/login/oauth/',
  'https://github.com/Settings/tokens',
  'https://github.com/oauth/tools/blob/main/a.ts',
  'https://github.com/x!/octo/tools/blob/main/a.ts',
  'https://github.com/octo/tools/blob/main/a%0Ab',
  'https://github.com/octo/tools/blob/main/a%1Bb',
  'https://github.com/octo/tools/blob/main/a%7Fb',
])('%s stays words', (address) => {
  expect(allowedAddress(address, host)).toBeNull()
})

test('an owner that only ends like a reserved word is an owner', () => {
  expect(allowedAddress('https://github.com/octo/users/blob/main/a', host)).not.toBeNull()
})

test('without a host nothing is linked', () => {
  expect(allowedAddress('https://github.com/octo/tools', undefined)).toBeNull()
})

test('with a port in the host, that port is meant', () => {
  expect(allowedAddress('https://git.example.org:8443/octo/tools', 'Git.example.org:8443')).not.toBeNull()
  expect(allowedAddress('https://git.example.org/octo/tools', 'git.example.org:8443')).toBeNull()
})

test.each<[string, boolean]>([
  ['https://github.com/octo/tools', true],
  ['https://github.com/Octo/Tools/', true],
  ['https://github.com/octo/tools/blob/main/a.ts', true],
  ['https://github.com/octo/other', false],
  ['https://github.com/attacker/tools/blob/main/a.ts', false],
  ['https://github.com/octo/tools/tools/blob/main/a.ts', false],
])('within one repository, %s: %s', (address, allowed) => {
  expect(allowedAddress(address, host, 'Octo/tools') !== null).toBe(allowed)
})

test.each(['src', 'tree', 'blob', 'blame'])(
  'files below a folder of the name %s are files of the repository',
  (folder) => {
    const address = `https://github.com/octo/tools/blob/abc/${folder}/a.ts#L1`
    expect(allowedAddress(address, host, 'octo/tools')).toBe(address)
    const nested = `https://github.com/group/${folder}/part/tools/-/blob/abc/${folder}/a.ts#L1`
    expect(allowedAddress(nested, host, `group/${folder}/part/tools`)).toBe(nested)
    expect(allowedAddress(nested, host, 'group/other')).toBeNull()
  },
)

test.each(['xhttps://github.com/octo/tools', 'git+https://github.com/octo/tools', 'ssh:https://github.com/octo/tools'])(
  'an address of another scheme stays words: %s',
  (address) => {
    expect(allowedAddress('https://github.com/octo/tools', 'github.com')).not.toBeNull()
    expect(allowedAddress(address, 'github.com')).toBeNull()
  },
)

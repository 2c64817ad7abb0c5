// The tokeniser of the page: it changes no character, whatever it is given, and gives the usual colours.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findLanguage, tokenise } from '../../web/highlight.js'
import { languages } from '../../web/highlight-languages.js'

const read = (path: string, text: string) => tokenise(text.split('\n'), findLanguage({ path })!)
/** The coloured tokens as `kind:text`. */
const coloured = (path: string, text: string) =>
  read(path, text)
    .flat()
    .filter(({ kind }) => kind !== undefined)
    .map(({ kind, text }) => `${kind}:${text}`)

test('twenty common languages are known by the end of a path and by the name that a model gives', () => {
  const paths =
    'a.ts a.js a.py a.go a.rs a.java a.kt a.scala a.c a.cpp a.cs a.rb a.php a.swift a.sh a.sql a.html a.css a.json a.yaml'
  const names = paths.split(' ').map((path) => findLanguage({ path })?.name)
  expect(new Set(names).size).toBe(20)
  expect(names).not.toContain(undefined)
  expect(findLanguage({ language: 'typescript' })?.name).toBe('TypeScript')
  expect(findLanguage({ language: 'C#' })?.name).toBe('C#')
  expect(findLanguage({ path: 'deploy/Dockerfile' })?.name).toBe('Dockerfile')
  expect(findLanguage({ path: 'data.bin' })).toBeUndefined()
  expect(findLanguage({ language: undefined })).toBeUndefined()
})

test.each([
  [
    'a.ts',
    "const a: Map = f(1_0, 'x\\'y') // z",
    ['keyword:const', 'type:Map', 'name:f', 'number:1_0', "string:'x\\'y'", 'comment:// z'],
  ],
  ['a.ts', '`a\nb` + @dec', ['string:`a', 'string:b`', 'type:@dec']],
  ['a.py', 'def f(a): # b\n  """c\n  d"""', ['keyword:def', 'name:f', 'comment:# b', 'string:"""c', 'string:  d"""']],
  ['a.rs', "fn f<'a>(x: &'a str) -> char { 'b' }", ['keyword:fn', 'keyword:str', "string:'b'"]],
  ['a.sql', 'SELECT name FROM t -- all', ['keyword:SELECT', 'keyword:FROM', 'comment:-- all']],
  [
    'a.html',
    '<a href="x">return "1"</a><!-- b -->',
    ['keyword:<a', 'name:href', 'string:"x"', 'keyword:</a', 'comment:<!-- b -->'],
  ],
  [
    'a.json',
    '{"a": "b", "c": 1.5, "d": true}',
    ['name:"a"', 'string:"b"', 'name:"c"', 'number:1.5', 'name:"d"', 'keyword:true'],
  ],
  ['a.yml', 'on-push: yes # c', ['name:on-push', 'keyword:yes', 'comment:# c']],
  ['a.sh', 'echo $# "$a" # b', ['string:"$a"', 'comment:# b']],
  ['a.c', '#include <a.h>\nint b;', ['type:#include', 'keyword:int']],
])('the colours of %s: %s', (path, text, expected) => {
  expect(coloured(path, text)).toEqual(expected)
})

test('an excerpt that begins inside a comment is a comment up to its end', () => {
  expect(coloured('a.ts', ' * older.\n */\nconst a')).toEqual(['comment: * older.', 'comment: */', 'keyword:const'])
  expect(coloured('a.ts', '/* a */ const b /* c */')).toEqual(['comment:/* a */', 'keyword:const', 'comment:/* c */'])
})

test('no character is lost or changed, and each line keeps its tokens', () => {
  const part = fc.constantFrom(
    ...'` \' " """ \\ // /* */ # -- <!-- --> < > </ $ @ : = \n 1.5e 0x Aa b_ - é 漢 \u{1f600} \t'.split(' '),
    ' ',
    'const',
    '\n',
  )
  fc.assert(
    fc.property(fc.constantFrom(...languages), fc.array(part, { maxLength: 60 }), (language, parts) => {
      const lines = parts.join('').split('\n')
      const tokens = tokenise(lines, language)
      expect(tokens.map((line) => line.map(({ text }) => text).join(''))).toEqual(lines)
    }),
    { numRuns: 2_000 },
  )
})

test('hostile code costs in proportion to its length', () => {
  // A scanner that looks at the rest of the line again for each string needs minutes here.
  for (const piece of ['"', "'", '`', '\\', '/*', '<', '#', 'a', '1', '<!--', '"""', '$', '@a:', ' '])
    tokenise([piece.repeat(1_000_000 / piece.length)], findLanguage({ path: 'a.ts' })!)
}, 60_000)

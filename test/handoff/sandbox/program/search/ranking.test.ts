// Which file comes first, and which of its lines.
import { expect, test } from 'vitest'
import { foundIn, linesOf, pathsOf } from './search-repository.js'

const lines = <T>(count: number, text: (line: number) => T) => Array.from({ length: count }, (_, line) => text(line))

test('a long function is judged as a whole, before short ones that are named like the question', async () => {
  const setters = ['timeout', 'pool_size', 'connection', 'refusal'].map(
    (name) => `    def set_${name}(self, ${name}):\n        self.${name} = ${name}\n        return self.${name}\n`,
  )
  const body = lines(134, (line) => {
    const said = ['connection', 'pool', 'timeout', 'refused'][Math.floor(line / 34)]
    return line % 17 === 5 ? `        # the ${said} is decided here` : `        step_${line} = ${line}`
  })
  const files = {
    'net/pool.py': `class Pool:\n${setters.join('\n')}\n    def acquire(self):\n${body.join('\n')}\n        return None\n`,
    ...Object.fromEntries(
      lines(12, (index) => `net/other_${index}.py`).map((path) => [
        path,
        lines(60, (line) => `def set_timeout_${line}(connection, pool):\n    return connection\n`).join('\n'),
      ]),
    ),
  }
  const asked = 'What decides whether a connection of the pool is refused after the timeout?'
  const found = await foundIn(files, asked, { tokens: 4_000 })
  const shown = [...linesOf(found, 'net/pool.py').values()].filter((line) => line.includes('step_'))
  expect(shown.length).toBeGreaterThan(110)
})

test('of ten files that define the same name one is shown first, then what they inherit from', async () => {
  const files = {
    ...Object.fromEntries(
      lines(10, (index) => `plugins/kind_${index}.py`).map((path, index) => [
        path,
        `class Kind${index}(BasePlugin):\n    def render_page(self, page):\n        return page\n`,
      ]),
    ),
    'core/base.py': 'class BasePlugin:\n    def prepare(self):\n        return self.layout\n',
    'core/other.py': 'class Other:\n    def draw(self, page):\n        return page\n',
  }
  const paths = pathsOf(await foundIn(files, 'What does render_page do?'))
  expect(paths[0]).toMatch(/^plugins\//)
  expect(paths.indexOf('core/base.py')).toBe(1)
})

test.each([
  ['Where are preferences of the user erased?', 'src/delete-settings.ts', 'other words for the same'],
  ['How are slow commands recorded?', 'src/slowlog.c', 'a word that a name begins with'],
  ['Which hosts need no proxy?', 'src/noproxy.c', 'a word that a name ends with'],
])('%s is answered by %s: %s', async (question, path, _) => {
  const files = {
    [path]: 'begin(entry)\n',
    ...Object.fromEntries(lines(6, (n) => [`src/unit${n}.c`, `void step${n}(void) {\n  turn();\n}\n`] as const)),
  }
  expect(pathsOf(await foundIn(files, question))[0]).toBe(path)
})

const unlike = 'export function emit(text: string) {\n  return text.trim()\n}\n'

test.each([
  ['src/parser.test.ts', 'a test in TypeScript'],
  ['tests/fixtures/parser/unterminated.ts', 'a fixture in a folder'],
  ['src/__tests__/Parser.spec.tsx', 'a specification'],
])('%s leads to what it tests', async (path, _) => {
  const said = "it('refuses unterminated documents', () => {\n  refuse('unterminated documents')\n})\n"
  const files = { [path]: said, 'src/parser.ts': unlike, 'src/aaa.ts': unlike, 'src/printer.ts': unlike }
  const paths = pathsOf(await foundIn(files, 'Which test refuses unterminated documents?'))
  expect(paths.slice(0, 2)).toEqual([path, 'src/parser.ts'])
})

test.each([
  ['src/clock.ts', 'export function nextTick(clock: Clock) {\n  return clock.tick + 1\n}\n', 'src/clock.test.ts'],
  ['clock.go', 'package clock\n\nfunc nextTick(clock Clock) int {\n\treturn clock.tick + 1\n}\n', 'clock_test.go'],
  [
    'src/main/Clock.java',
    'class Clock {\n  int nextTick() {\n    return clock.tick + 1;\n  }\n}\n',
    'src/test/ClockTest.java',
  ],
])('%s ranks before its test, also where that says more of the words', async (source, code, tested) => {
  const said = "test('the clock ticks', () => {\n  // the clock adds one tick to the clock\n  nextTick(clock)\n})\n"
  const paths = pathsOf(await foundIn({ [source]: code, [tested]: said }, 'How does the clock add a tick?'))
  expect(paths).toEqual([source, tested])
})

test('a test that says the words of the question lifts what it tests, also where other files say more of them', async () => {
  const others = lines(8, (at): [string, string] => [
    `src/other${at}.ts`,
    `// unterminated documents are refused\nexport const documents${at} = 1\n`,
  ])
  const said = "it('refuses unterminated documents', () => {\n  expect(1).toBe(1)\n})\n"
  const files = {
    ...Object.fromEntries(others),
    'src/parser.test.ts': said,
    'src/parser.ts': `// documents\n${unlike}`,
  }
  const asked = 'Where are unterminated documents refused?'
  expect(pathsOf(await foundIn(files, asked, { features: ['testRank'] }))[0]).toBe('src/parser.ts')
  expect(pathsOf(await foundIn(files, asked, { features: ['tested'] }))[0]).not.toBe('src/parser.ts')
})

test('what a file imports counts for the file, and only that does in this feature', async () => {
  const files = {
    'src/Printer.java': 'import org.hamcrest.Matcher;\n\nclass Printer {\n  void usages(Matcher one) {}\n}\n',
    'src/Hamcrest.java': 'class Hamcrest {\n  // hamcrest, and again hamcrest\n  void hamcrest() {}\n}\n',
  }
  const asked = 'Isolated the usages of hamcrest'
  expect(pathsOf(await foundIn(files, asked, { features: ['imports'] }))[0]).toBe('src/Printer.java')
  expect(pathsOf(await foundIn(files, asked, { features: ['name'] }))[0]).toBe('src/Hamcrest.java')
})

test('the words that the summary gives to a directory find its files', async () => {
  const files = {
    'billing/charge.ts': 'export function charge(order: Order) {\n  return gateway.post(order)\n}\n',
    'catalogue/list.ts': 'export function list() {\n  return store.all()\n}\n',
  }
  const question = 'Where is cash taken?'
  expect(pathsOf(await foundIn(files, question))).toEqual([])
  const words = [{ directory: 'billing', words: ['cash', 'payment'] }]
  expect(pathsOf(await foundIn(files, question, { words }))).toEqual(['billing/charge.ts'])
})

test('a dot-file is not the answer to a question about files of its name', async () => {
  const files = {
    '.ignore': 'target\n*.log\n',
    'src/walk.rs':
      '/// Reads each `.ignore` file of a folder.\nfn read_ignore_file(path: &Path) -> Rules {\n    parse(path)\n}\n',
  }
  expect(pathsOf(await foundIn(files, 'How are .ignore files matched in a folder?'))[0]).toBe('src/walk.rs')
  expect(pathsOf(await foundIn(files, 'What does ./.ignore contain?'))[0]).toBe('.ignore')
})

test('a question in another language shows at least the files that describe the repository', async () => {
  const files = { 'README.md': '# Clock\n\nTells the time.\n', 'src/clock.ts': 'export const now = () => Date.now()\n' }
  expect(pathsOf(await foundIn(files, 'このリポジトリの構成を説明してください'))).toContain('README.md')
})

test.each([
  ['a head that ends with its bracket', 'export async function settleBatch(\n  batch: Batch,\n): Promise<void> {\n'],
  ['an arrow property', 'class Ledger {\n  settleBatch = async (batch: Batch) => {\n'],
  ['a class whose head spans lines', 'export class SettleBatch\n  extends Base<Batch>\n  implements Runnable\n{\n'],
  ['an arrow with parameters on lines of their own', 'export const settleBatch = async (\n  batch: Batch,\n) => {\n'],
])('%s begins a definition that is shown whole', async (_, head) => {
  const body = lines(30, (line) => `    step${line}()\n`).join('')
  const tail = head.startsWith('class') ? '  }\n}\n' : '}\n'
  const files = {
    'src/ledger.ts': `${head}${body}${tail}\n${lines(200, (line) => `export const other${line} = ${line}\n`).join('')}`,
    ...Object.fromEntries(lines(8, (n) => [`src/b${n}.ts`, `// settles a batch\n${unlike.repeat(9)}`] as const)),
  }
  const found = await foundIn(files, 'What does settleBatch do?', { tokens: 900 })
  const shown = linesOf(found, 'src/ledger.ts')
  expect([...shown.values()].filter((line) => line.includes('step'))).toHaveLength(30)
})

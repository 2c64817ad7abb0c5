// What is found: in small repositories, where it is plain what should be.
import { expect, test } from 'vitest'
import { makeRepository } from '../../../../support/repository.js'
import { findIn, foundIn, linesOf, pathsOf } from './search-repository.js'

const filler = (words: string, count = 40) =>
  Array.from({ length: count }, (_, index) => `${words}_${index} = ${index}`).join('\n')

test('a question in prose finds the identifier it describes, in any spelling', async () => {
  const files = {
    'src/cache.py': `${filler('entry')}\nEXPIRE_THRESHOLD = 30\n${filler('other')}\n`,
    'src/cache.ts': `export const expirationThreshold = 30\n`,
    'src/paint.py': `${filler('colour')}\n`,
  }
  const found = await foundIn(files, 'What is the expiration threshold?')
  expect(pathsOf(found).sort()).toEqual(['src/cache.py', 'src/cache.ts'])
  expect(linesOf(found, 'src/cache.py').get(41)).toBe('EXPIRE_THRESHOLD = 30')
})

test('a matching line shows the whole definition around it', async () => {
  const method = [
    '    def resolve(self, request):',
    '        """Follow where the answer points to."""',
    '        for hop in range(self.limit):',
    '            request = self.step(request)',
    '            if request is None:',
    "                raise TooManyHops('too many hops')",
    '        return request',
  ]
  const text = `class Walker:\n    limit = 5\n\n    def step(self, request):\n        return request.next\n\n${method.join('\n')}\n\n    def close(self):\n        self.open = False\n`
  const found = await foundIn({ 'walker.py': text, 'else.py': filler('value') }, 'When is TooManyHops raised?')
  const shown = linesOf(found, 'walker.py')
  expect(method.map((_, index) => shown.get(7 + index))).toEqual(method)
})

test('tests rank behind what they test, unless the question asks about tests', async () => {
  const files = {
    'src/limiter.ts':
      'export function acquirePermit(count: number): boolean {\n  // waits for a permit\n  return count > 0\n}\n',
    'src/limiter.test.ts':
      "import { acquirePermit } from './limiter'\n\ntest('acquire permit', () => {\n  // a permit is acquired, then another permit\n  expect(acquirePermit(1)).toBe(true)\n})\n",
    'src/none.ts': 'export const nothing = 0\n',
  }
  expect(pathsOf(await foundIn(files, 'How is a permit acquired?'))[0]).toBe('src/limiter.ts')
  expect(pathsOf(await foundIn(files, 'Which tests check that a permit is acquired?'))).toContain('src/limiter.test.ts')
})

test('documents rank behind code with the same words', async () => {
  const text = 'The scheduler drains its queue before it stops.'
  const files = {
    'docs/scheduler.md': `# Scheduler\n\n${text}\n`,
    'src/scheduler.go': `package scheduler\n\n// ${text}\nfunc (s *Scheduler) Drain() {\n\ts.queue.stop()\n}\n`,
  }
  expect(pathsOf(await foundIn(files, 'When does the scheduler drain its queue?'))).toEqual([
    'src/scheduler.go',
    'docs/scheduler.md',
  ])
})

test('a definition that the best region uses is found although the question does not name it', async () => {
  const files = {
    'app/checkout.py':
      'from app.money import quantise\n\ndef total_of_basket(basket):\n    return quantise(sum(basket))\n',
    'app/money.py': `${filler('coin')}\n\ndef quantise(amount):\n    # cut to what can be paid: basket or not\n    return round(amount, 2)\n`,
    'app/baskets.py': `${filler('basket')}\n`,
  }
  const outline = {
    version: 1 as const,
    commit: '',
    files: { 'app/money.py': [{ name: 'quantise', kind: 'function', line: 42, end: 44 }] },
  }
  await using repository = await makeRepository(files)
  for (const asked of [{}, { outline }]) {
    const found = await findIn(repository, 'How is the total of a basket computed?', asked)
    expect(pathsOf(found)[0]).toBe('app/checkout.py')
    expect(linesOf(found, 'app/money.py').get(42)).toBe('def quantise(amount):')
  }
})

test('a test raises the file that it is named after', async () => {
  const files = {
    'lib/parser.rb': 'class Parser\n  # takes a document\n  def run(text)\n    text.lines\n  end\nend\n',
    'lib/printer.rb': 'class Printer\n  # prints a document\n  def run(text)\n    puts text\n  end\nend\n',
    'spec/parser_spec.rb':
      "describe 'unterminated documents' do\n  it 'refuses unterminated documents' do\n    refuse('unterminated')\n  end\nend\n",
  }
  const paths = pathsOf(await foundIn(files, 'What does the spec for unterminated documents refuse?'))
  expect(paths[0]).toBe('spec/parser_spec.rb')
  expect(paths.indexOf('lib/parser.rb')).toBeLessThan(paths.indexOf('lib/printer.rb'))
})

test('files that use or test the best file rank before files that only share words with the question', async () => {
  const said = 'def settle(batch):\n    # every batch is settled once\n    return batch\n'
  const files = {
    'bank/ledger.py':
      'class LedgerBook:\n    # settles a batch of payments\n    def settle_batch(self, payments):\n        return payments\n',
    'bank/aaa.py': said,
    'bank/user.py': `${said}\nbook = LedgerBook()\n`,
    'tests/test_aaa.py': said,
    'tests/test_ledger.py': said,
  }
  const paths = pathsOf(await foundIn(files, 'How does the ledger settle a batch of payments?'))
  expect(paths[0]).toBe('bank/ledger.py')
  expect(paths.indexOf('bank/user.py')).toBeLessThan(paths.indexOf('bank/aaa.py'))
  expect(paths.indexOf('tests/test_ledger.py')).toBeLessThan(paths.indexOf('tests/test_aaa.py'))
})

test('folders and file names that the question names count', async () => {
  const text = 'def load(path):\n    return open(path).read()\n'
  const files = Object.fromEntries(
    ['billing', 'shipping', 'catalogue', 'search'].map((name) => [`shop/${name}/loader.py`, text]),
  )
  expect(pathsOf(await foundIn(files, 'How does the shipping module load its files?'))[0]).toBe(
    'shop/shipping/loader.py',
  )
})

test('a path and line in the summary break a tie, and find nothing by themselves', async () => {
  const text = 'def handle(request):\n    return request.answer\n'
  const files = { 'a/one.py': text, 'b/two.py': text, 'c/three.py': 'unrelated = True\n' }
  const question = 'How is a request handled?'
  await using repository = await makeRepository(files)
  expect(pathsOf(await findIn(repository, question))).toEqual(['a/one.py', 'b/two.py'])
  const summary = 'Each request is handled by one function (b/two.py:1).\nThe flag stands in c/three.py:1.\n'
  expect(pathsOf(await findIn(repository, question, { summary }))).toEqual(['b/two.py', 'a/one.py'])
})

test('earlier terms add what the question leaves out', async () => {
  const files = {
    'src/alpha.js': 'export function connect() {\n  return open()\n}\n',
    'src/beta.js': 'export function connect() {\n  return handshake()\n}\n',
  }
  expect(pathsOf(await foundIn(files, 'And how does it connect?', { terms: ['handshake'] }))[0]).toBe('src/beta.js')
})

test('questions in other languages and scripts find comments, identifiers and terms', async () => {
  const files = {
    'src/cache.py': '# 缓存的过期时间由这里决定\ndef expire():\n    return 30\n',
    'src/other.py': '# 打印一行文字\ndef show():\n    return 1\n',
    'src/größe.py': '# Die Größe des Fensters wird hier geändert\ndef resize():\n    pass\n',
    'src/retry.py': 'def limit_retries():\n    return 3\n',
  }
  await using repository = await makeRepository(files)
  expect(pathsOf(await findIn(repository, '过期时间是怎么决定的？'))).toEqual(['src/cache.py'])
  expect(pathsOf(await findIn(repository, 'Wo wird die Größe geändert?'))[0]).toBe('src/größe.py')
  const terms = ['retries', 'limit']
  expect(pathsOf(await findIn(repository, 'как ограничены повторы?', { terms }))).toEqual(['src/retry.py'])
})

test.each([
  [
    'rust',
    'src/lib.rs',
    'impl Pool {\n    pub fn take_idle(&self) -> Option<Conn> {\n        self.idle.pop()\n    }\n}\n',
  ],
  [
    'java',
    'src/Pool.java',
    'public class Pool {\n    public Conn takeIdle() {\n        return idle.pop();\n    }\n}\n',
  ],
  ['c', 'src/pool.c', 'struct conn *take_idle(struct pool *pool)\n{\n    return pop(pool);\n}\n'],
  [
    'php',
    'src/Pool.php',
    '<?php\nclass Pool {\n    public function takeIdle() {\n        return array_pop($this->idle);\n    }\n}\n',
  ],
  ['kotlin', 'src/Pool.kt', 'class Pool {\n    fun takeIdle(): Conn? {\n        return idle.removeLast()\n    }\n}\n'],
])('code in %s is found by what it is called', async (_, path, text) => {
  const found = await foundIn(
    { [path]: text, 'other.txt': 'nothing\n' },
    'Where does the pool take an idle connection?',
  )
  expect(pathsOf(found)).toEqual([path])
})

test('excerpts come from many files; no file takes the whole limit', async () => {
  const text = (name: string) =>
    Array.from(
      { length: 60 },
      (_, index) => `def ${name}_ticket_${index}(ticket):\n    return ticket.price * ${index}\n`,
    ).join('\n')
  const files = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`sales/part${index}.py`, text(`sell${index}`)]),
  )
  const found = await foundIn(files, 'How is the price of a ticket computed?')
  expect(pathsOf(found).length).toBe(12)
})

test.each(['utf16le', 'big-endian'])('text in UTF-16 (%s) is searched and shown as text', async (order) => {
  const text = `${filler('value', 5)}\nmaximumRetries = 7\n`
  const little = Buffer.from(`\ufeff${text}`, 'utf16le')
  const wide = order === 'utf16le' ? little : little.swap16()
  const found = await foundIn({ 'settings.ini': wide, 'other.ini': filler('x') }, 'How many maximum retries?')
  expect(pathsOf(found)).toEqual(['settings.ini'])
  expect(linesOf(found, 'settings.ini').get(6)).toBe('maximumRetries = 7')
})

test('files whose names cannot be cited are not shown, and are named', async () => {
  const code = 'export const maximumRetries = 7\n'
  const found = await foundIn(
    [
      [Buffer.from([0x66, 0xff, 0x2e, 0x74, 0x73]), code],
      ['new\nline.ts', code],
      ['plain.ts', code],
      ['picture\n.png', 'no source'],
    ],
    'How many maximumRetries?',
  )
  expect(pathsOf(found)).toEqual(['plain.ts'])
  expect(found.searched.unsearched.join()).toContain(JSON.stringify(['f\ufffd.ts', 'new\ufffdline.ts'][0]))
})

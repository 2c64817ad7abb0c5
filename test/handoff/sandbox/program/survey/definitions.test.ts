// Definitions that are easily missed, language by language, and statements that only look like them.
import { expect, test } from 'vitest'
import { languageForExtension } from '../../../../../src/handoff/sandbox/program/survey/languages.js'
import { findDefinitions } from '../../../../../src/handoff/sandbox/program/survey/outline.js'
import { createIdentifierScanner } from '../../../../../src/handoff/sandbox/program/survey/scan-identifiers.js'
import { processorTime } from '../../../../support/processor-time.js'

const scan = createIdentifierScanner()

function namesIn(ending: string, text: string): string[] {
  const bytes = Buffer.from(text)
  const { grammar } = languageForExtension(ending)!
  const { definitions } = findDefinitions(bytes.toString('latin1'), scan(bytes, false), grammar)
  return definitions.map(({ kind, name }) => `${kind} ${name}`)
}

const samples: [what: string, ending: string, text: string, expected: string[]][] = [
  [
    'names in Rust that are words of JavaScript',
    'rs',
    'impl Foo {\n    pub fn new() -> Foo {\n    }\n    fn default() -> Foo {\n    }\n    fn of(x: u8) {\n    }\n}\nfn delete() {}\n',
    ['method new', 'method default', 'method of', 'function delete'],
  ],
  [
    'names in Python that are words of JavaScript, and a sentence',
    'py',
    'class View:\n    """A\n    class and a view."""\n    def delete(self):\n        return 1\n\ndef default():\n    pass\n',
    ['class View', 'method delete', 'function default'],
  ],
  [
    'functions that are assigned in JavaScript',
    'js',
    `app.use = function use(fn) {
  fn = 1
};
req.get =
req.header = function header(name) {
};
app.one = app.two = (a, b) => a + b
Layer.prototype.handle = async function (req) {
}
exports.z = function () {
}
module.exports.y = 1
this.size = count(1)
app.size = 3
`,
    ['method use', 'method get', 'method header', 'method one', 'method handle', 'export z', 'export y'],
  ],
  [
    'methods in TypeScript: arrows in fields and properties, heads on several lines, bodies on one',
    'ts',
    `export class Door {
  handle = async (request: Request): Promise<void> => {
    await request.end()
  }
  readonly knock = () => this.open(1)
  open(
    key: string,
    name: string,
  ): Promise<void> {
    call(
      key,
    )
    fetch(
      name,
    ).then((found) => {
    })
  }
  delete() { return 1 }
  close(error: unknown): void {
    for (const one of this.all(
      error,
    )) {
    }
    if (error) {
    }
  }
}
const table = {
  answer: (text: string) => text,
  ask: async () => {
  },
  size: 3,
  old: function () {
  },
}
interface Port {
  reported: (text: string) => void
}
function take(
  reported: (text: string) => void,
) {
}
`,
    [
      'class Door',
      'method handle',
      'method knock',
      'method open',
      'method delete',
      'method close',
      'constant table',
      'method answer',
      'method ask',
      'method old',
      'interface Port',
      'function take',
    ],
  ],
  ['a class without a name', 'js', 'export default class extends Base {\n  run() {\n  }\n}\n', ['method run']],
  [
    'groups of types in Go',
    'go',
    'package x\n\ntype (\n\tPoint struct {\n\t\tX int\n\t}\n\tHandler func(int) error\n\tAlias = Point\n\tList[T any] []T\n)\n\nfunc new() {\n\tcall (\n\t\t1)\n}\n',
    ['type Point', 'type Handler', 'type Alias', 'type List', 'function new'],
  ],
  [
    'methods in Java without a modifier',
    'java',
    `class Box {
    Box(int size) {
    }
    static Box of(int size) {
        return new Box(size);
    }
    List<String> names(int from,
            int to) {
        if (from > to) {
            throw new Error(text(from));
        } else if (to == 1) {
            return names(1, 2);
        }
        String text = names(
            1, 2);
        for (String one : names(1, 2)) {
        }
        run(() -> {
        });
    }
    <T> T first();
}
`,
    ['class Box', 'method Box', 'method of', 'method names', 'method first'],
  ],
  [
    'methods in C# without visibility',
    'cs',
    `class Box {
    int Size { get; set; }
    Task<int> Load(string path) {
        await Read(path);
        using (var x = Open(path)) {
        }
        return new Box(path);
    }
}
`,
    ['class Box', 'method Size', 'method Load'],
  ],
]

test.each(samples)('%s', (_, ending, text, expected) => {
  expect(namesIn(ending, text)).toEqual(expected)
})

test('no line makes the search for definitions slow', () => {
  const hostile = [
    'a.'.repeat(300_000),
    `\n${'a.b = '.repeat(100_000)}`,
    `\n  ${'a: '.repeat(200_000)}`,
    `\n  a: (${'('.repeat(300_000)}`,
    `\n  a = ${' '.repeat(300_000)}x`,
    `\n    ${'int '.repeat(200_000)}(`,
    `\n    int ${'x'.repeat(300_000)}`,
    '\n  a(\n'.repeat(100_000),
    `\ntype (\n${'\tA int\n'.repeat(100_000)}`,
    '\ntype ('.repeat(50_000),
  ]
  for (const ending of ['ts', 'java', 'cs', 'go', 'py', 'rs']) {
    // A second is what a sandbox may lose to a file; these take milliseconds, where a search that is not linear would take minutes.
    for (const text of hostile)
      expect(
        processorTime(() => namesIn(ending, text)),
        ending + text.slice(0, 9),
      ).toBeLessThan(3_000)
  }
})

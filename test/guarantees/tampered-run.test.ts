// The script of docs/format.md on a copy of a real run directory: it accepts the whole run, and names each tampering.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerQuestion, summarise } from '../../src/handoff/index.js'
import { startLocalStack } from '../support/local-stack.js'
import { makeRepository } from '../support/repository.js'

const execute = promisify(execFile)
const deadline = AbortSignal.timeout(120_000)
const name = 'octo/clock'

let scratch: string
let original: string
let commit: string
let run: string
let script: string

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'handoff-check-'))
  original = join(scratch, 'original')
  const format = await readFile('docs/format.md', 'utf8')
  script = join(scratch, 'check-run.sh')
  await writeFile(script, /```sh\n(#![\s\S]*?)```/.exec(format)![1]!)

  await using repository = await makeRepository({
    'README.md': '# Clock\n\nTells the time.   \n\n\u00dcber die Zeit.\n',
    'config.env': `API_TOKEN=ghp_${'a1B2c3D4e5'.repeat(3)}F6g7h8\n`,
    'src/clock.ts': 'export function tellTime(): string {\r\n  return new Date().toISOString()\r\n}\r\n',
    'docs/\u8bf4\u660e \u2603.md': 'Names have letters of any language.\n',
    'docs/"quoted"\tname.md': 'They have quotes and tabs too.\n',
    'src/long name.ts': `import { tellTime } from './clock.js'\nconsole.log(tellTime(), '${'x'.repeat(500)}')\n`,
  })
  await using stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  const summarised = await summarise(
    { commit: stack.commit(name, repository.head), attempt: 'first' },
    stack.context,
    deadline,
  )
  commit = repository.head
  run = summarised.run
  for (const text of ['How does tellTime know the time?', 'Where is tellTime called?']) {
    await answerQuestion(
      {
        repository: stack.commit(name, commit).repository,
        cloneUrl: stack.remote.cloneUrl(name),
        name: { run: summarised.run },
        question: { text },
      },
      stack.context,
      deadline,
    )
  }
  const place = dirname(dirname(summarised.directory))
  const { drive } = stack.clouds
  for (const { path } of drive.tree(place).filter(({ isDirectory }) => !isDirectory)) {
    const to = join(original, path.slice(place.length))
    await mkdir(dirname(to), { recursive: true })
    await writeFile(to, drive.readFile(path)!)
  }
})

afterAll(() => rm(scratch, { recursive: true, force: true }))

/** The exit code and the output of the script. */
async function check(directory: string): Promise<{ code: number; lines: string[] }> {
  const linesOf = (text: string) => text.split('\n').filter(Boolean)
  try {
    const { stdout } = await execute('sh', [script, directory, commit])
    return { code: 0, lines: linesOf(stdout) }
  } catch (error) {
    const failed = error as { code: number; stdout: string }
    return { code: failed.code, lines: linesOf(failed.stdout) }
  }
}

/** A copy of the repository's directory, and ways to change it. */
async function makeCopy() {
  const directory = await mkdtemp(join(scratch, 'copy-'))
  await cp(original, directory, { recursive: true })
  const at = (path: string) => join(directory, 'runs', run, path)
  const pointer = join(directory, 'commits', `${commit}.json`)
  const clone = at('project/clock.git.tar')
  const edit = async (file: string, change: (text: string) => string) => {
    const before = await readFile(file, 'utf8')
    const after = change(before)
    expect(after).not.toBe(before)
    await writeFile(file, after)
  }
  // biome-ignore lint/suspicious/noExplicitAny: a file of any shape is changed.
  const json = (file: string, change: (value: any) => void) =>
    edit(file, (text) => {
      const value = JSON.parse(text)
      change(value)
      return JSON.stringify(value)
    })
  const answer = async () => at(join('analysis/qa', (await readdir(at('analysis/qa'))).sort()[0]!))
  /** Unpacks the clone, changes it, and packs it again. */
  /** Changes the clone where each of its objects is a file. */
  const repack = async (change: (folder: string) => Promise<void>) => {
    const folder = await mkdtemp(join(scratch, 'tar-'))
    await execute('tar', ['-xf', clone, '-C', folder])
    await execute('sh', ['-c', unpackObjects, 'sh', join(folder, 'clock.git')])
    await change(join(folder, 'clock.git'))
    await execute('tar', ['-cf', clone, '-C', folder, 'clock.git'])
  }
  /** Makes all hashes agree again, as a person who may write everything would. */
  const reseal = async () => {
    const hash = async (file: string) =>
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex')
    const seal = at('analysis/handoff.json')
    const handoff = JSON.parse(await readFile(seal, 'utf8'))
    for (const entry of handoff.artifacts) {
      entry.sha256 = await hash(at(entry.path))
      entry.bytes = (await stat(at(entry.path))).size
    }
    await writeFile(seal, JSON.stringify(handoff))
    const sealed = await hash(seal)
    await json(pointer, (value) => {
      value.handoff = sealed
    })
  }
  return { directory, at, pointer, clone, edit, json, answer, repack, reseal }
}

type Copy = Awaited<ReturnType<typeof makeCopy>>

const unpackObjects = `cd "$1" && mkdir packs && mv objects/pack/pack-* packs && cat packs/*.pack | git unpack-objects -q && rm -r packs`

const object = async (folder: string, path: string) => {
  const { stdout } = await execute('git', ['-C', folder, 'rev-parse', `${commit}:${path}`])
  return join(folder, 'objects', stdout.slice(0, 2), stdout.slice(2).trim())
}

type Tampering = [title: string, named: RegExp, tamper: (copy: Copy) => Promise<unknown>]

const tamperings: Tampering[] = [
  ['no pointer', /^pointer: missing/, (copy) => rm(copy.pointer)],
  [
    'a pointer to a run of another commit',
    /^pointer: does not name a run of this commit/,
    (copy) =>
      copy.json(copy.pointer, (pointer) => {
        pointer.run = `${'0'.repeat(40)}-first`
      }),
  ],
  [
    'a pointer that leaves the directory',
    /^pointer: does not name/,
    (copy) =>
      copy.json(copy.pointer, (pointer) => {
        pointer.run = `${commit}-x/../../elsewhere`
      }),
  ],
  ['no run directory', /^run: missing/, (copy) => rm(copy.at(''), { recursive: true })],
  [
    'another hash in the pointer',
    /handoff\.json: not what was sealed/,
    (copy) =>
      copy.json(copy.pointer, (pointer) => {
        pointer.handoff = '0'.repeat(64)
      }),
  ],
  [
    'a changed seal',
    /handoff\.json: not what was sealed/,
    (copy) => copy.edit(copy.at('analysis/handoff.json'), (text) => text.replace('"secrets": 1', '"secrets": 0')),
  ],
  [
    'the seal of another run',
    /handoff\.json: of another run/,
    async (copy) => {
      await copy.json(copy.at('analysis/handoff.json'), (handoff) => {
        handoff.run = `${commit}-second`
      })
      await copy.reseal()
    },
  ],
  ['a file that is gone', /outline\.json: .*differs/, (copy) => rm(copy.at('analysis/outline.json'))],
  [
    'a file that was cut',
    /README\.md: .*differs/,
    (copy) => copy.edit(copy.at('README.md'), (text) => text.slice(0, 100)),
  ],
  [
    'a changed summary',
    /code-summary\.md: .*differs/,
    (copy) => copy.edit(copy.at('analysis/code-summary.md'), (text) => text.replace('Clock', 'Clack')),
  ],
  [
    'a file that is not JSON',
    /files\.json: not JSON/,
    (copy) => copy.edit(copy.at('analysis/files.json'), (text) => text.slice(1)),
  ],
  [
    'a file beside the sealed ones',
    /^analysis\/more\.json: not sealed/,
    (copy) => writeFile(copy.at('analysis/more.json'), '{}'),
  ],
  [
    'a seal without the clone',
    /seals no commit/,
    async (copy) => {
      await copy.json(copy.at('analysis/handoff.json'), (handoff) => {
        handoff.artifacts = handoff.artifacts.filter(({ path }: { path: string }) => !path.endsWith('.tar'))
      })
      await copy.reseal()
    },
  ],
  [
    'a clone that is no archive',
    /clone: not an archive/,
    async (copy) => {
      await writeFile(copy.clone, 'nothing')
      await copy.reseal()
    },
  ],
  [
    'a forged object in the clone',
    /in the clone/,
    async (copy) => {
      await copy.repack(async (folder) =>
        cp(await object(folder, 'README.md'), await object(folder, 'src/clock.ts'), { force: true }),
      )
      await copy.reseal()
    },
  ],
  [
    'a clone without a file',
    /in the clone/,
    async (copy) => {
      await copy.repack(async (folder) => rm(await object(folder, 'src/clock.ts')))
      await copy.reseal()
    },
  ],
  [
    'a table with another blob',
    /files\.json: not the files of the commit/,
    async (copy) => {
      await copy.edit(copy.at('analysis/files.json'), (text) => text.replace(/"blob":"../, '"blob":"00'))
      await copy.reseal()
    },
  ],
  [
    'a table without a file',
    /files\.json: not the files of the commit/,
    async (copy) => {
      await copy.json(copy.at('analysis/files.json'), (table) => table.files.shift())
      await copy.reseal()
    },
  ],
  [
    'a statement about other lines',
    /^summary\.json: .*: other lines/,
    async (copy) => {
      await copy.edit(copy.at('analysis/summary.json'), (text) => text.replace(/"digest":"..../, '"digest":"0000'))
      await copy.reseal()
    },
  ],
  [
    'a statement about a file that is not there',
    /^summary\.json: .*: no such file/,
    async (copy) => {
      await copy.edit(copy.at('analysis/summary.json'), (text) => text.replace('"path":"', '"path":"no/'))
      await copy.reseal()
    },
  ],
  [
    'a statement about another version of a file',
    /^summary\.json: .*: another blob/,
    async (copy) => {
      await copy.edit(copy.at('analysis/summary.json'), (text) => text.replace(/"blob":"..../, '"blob":"0000'))
      await copy.reseal()
    },
  ],
  [
    'an answer of another run',
    /^qa\/.*: of another run/,
    async (copy) =>
      copy.json(await copy.answer(), (answer) => {
        answer.run = `${commit}-second`
      }),
  ],
  [
    'an answer under another name',
    /^qa\/0{32}\.json: has another id/,
    async (copy) => cp(await copy.answer(), copy.at(`analysis/qa/${'0'.repeat(32)}.json`)),
  ],
  [
    'an answer that cites other lines',
    /^qa\/.*: other lines/,
    async (copy) =>
      copy.json(await copy.answer(), (answer) => {
        answer.citations[0].to += 1
      }),
  ],
  [
    'an answer that shows lines that are not there',
    /^qa\/.*: other lines/,
    async (copy) =>
      copy.json(await copy.answer(), (answer) => {
        answer.cited[0].lines[0] = 'export function forged() {'
      }),
  ],
]

test('the script accepts a whole run and says what it could not check', async () => {
  expect(await check(original)).toEqual({
    code: 0,
    lines: [expect.stringMatching(/^[0-9a-f]{40} is whole: \d+ places hold; [1-9]\d* hold credentials, long lines/)],
  })
})

test('a copy that is sealed anew without a change is whole', async () => {
  const copy = await makeCopy()
  await copy.repack(async () => undefined)
  await copy.reseal()
  expect(await check(copy.directory)).toMatchObject({ code: 0 })
})

test.each(tamperings)('the script names %s', async (_, named, tamper) => {
  const copy = await makeCopy()
  await tamper(copy)
  const { code, lines } = await check(copy.directory)
  expect(lines).toContainEqual(expect.stringMatching(named))
  expect(code).toBe(1)
})

test('the configuration of the clone runs no command', async () => {
  const copy = await makeCopy()
  const witness = join(scratch, 'ran')
  await copy.repack(async (folder) => {
    await rm(await object(folder, 'src/clock.ts'))
    const config = `[core]\n\tbare = true\n\trepositoryformatversion = 1\n\tfsmonitor = "touch ${witness}"\n[extensions]\n\tpartialClone = evil\n[remote "evil"]\n\turl = "ext::touch ${witness}"\n\tpromisor = true\n[protocol "ext"]\n\tallow = always\n`
    await writeFile(join(folder, 'config'), config)
  })
  await copy.reseal()
  expect(await check(copy.directory)).toMatchObject({ code: 1 })
  await expect(stat(witness)).rejects.toMatchObject({ code: 'ENOENT' })
})

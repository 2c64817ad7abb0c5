// The page of guarantees: what is guaranteed, and the tests that show it, by the names of the tests themselves.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const folder = 'test/guarantees'

interface Headline {
  title: string
  text: string
  /** Files of `test/guarantees`, without `.test.ts`. */
  files: string[]
}

const headlines: Headline[] = [
  {
    title: 'No reader sees half a run',
    text: 'A run is visible when it is complete and sealed, whatever call fails and whenever a process dies. Pruning removes a run as a whole. No order of requests loses a run.',
    files: ['run-atomicity', 'run-protocol', 'retention'],
  },
  {
    title: 'No accepted question is lost or paid twice',
    text: 'Each question ends as one answer or one error. Another process continues when one dies, and a budget is charged once.',
    files: ['answer-durability', 'resumed-streams'],
  },
  {
    title: 'Each question has one comment',
    text: 'A comment with an answer is written once, edited in place, and completed, whatever GitHub loses.',
    files: ['single-comment'],
  },
  {
    title: 'Each sandbox ends',
    text: 'A sandbox is killed on every path. If its owner dies, it ends by itself, and npm run sweep finds it.',
    files: ['sandbox-cleanup'],
  },
  {
    title: 'Lost data is noticed',
    text: 'The host reads back and hashes what a sandbox stored before it seals the run. A script without handoff names what was changed later.',
    files: ['lost-data', 'tampered-run'],
  },
  {
    title: 'No secret leaves its place',
    text: 'No key of ours and no credential of a repository reaches a sandbox that reads code, a model, a log, a comment or a stored file.',
    files: ['secrets', 'secret-watch'],
  },
  {
    title: 'Sandboxes and callers do only what they may',
    text: 'A sandbox reaches its own directory and hosts only. A caller reaches the repositories that it may read only.',
    files: ['sandbox-isolation', 'taken-over-sandbox', 'authorisation'],
  },
  {
    title: 'Hostile input, load and old data break nothing',
    text: 'Any bytes are decoded or refused. A hundred callers at once are answered. A stranger leaves nothing behind. Files of format 1 stay readable.',
    files: ['bad-input', 'load', 'aborted-calls', 'strangers', 'old-formats'],
  },
]

export async function guaranteesPage(root: string): Promise<string> {
  const names = (await readdir(join(root, folder))).filter((name) => name.endsWith('.test.ts'))
  const listed = headlines.flatMap(({ files }) => files.map((file) => `${file}.test.ts`))
  const missing = names.filter((name) => !listed.includes(name))
  if (missing.length > 0) throw new Error(`No headline in guarantees-list.ts has ${missing.join(', ')}.`)
  const parts = headlines.map(async ({ title, text, files }, index) => {
    const lists = await Promise.all(files.map((file) => testList(root, `${file}.test.ts`)))
    return `## ${index + 1}. ${title}\n\n${text}\n\n${lists.join('\n\n')}`
  })
  return (await Promise.all(parts)).join('\n\n')
}

async function testList(root: string, name: string): Promise<string> {
  const source = await readFile(join(root, folder, name), 'utf8')
  const rows = testNames(source).map((test) => `- ${test}`)
  return [`[${name}](../${folder}/${name}):`, '', ...rows].join('\n')
}

/** The names of the tests of a file, in its order, after the name of their group. What is filled in for each row of a table is left out. */
export function testNames(source: string): string[] {
  const opening = String.raw`test(?:\.(?:concurrent|runIf\([^)]*\)))?\(|test(?:\.concurrent)?\.each\([^\n]*\)\(|\][^\n]*\)\(|\)\(`
  const call = new RegExp(String.raw`^( *)(?:(describe)\(|${opening})\s*(['"\`])((?:\\.|(?!\3)[^\\\n])*)\3`, 'gm')
  let group = ''
  return [...source.matchAll(call)].flatMap(([, indent = '', describe, , name = '']) => {
    if (describe !== undefined || indent === '') group = describe === undefined ? '' : `${tidy(name)}: `
    return describe === undefined ? [`${group}${tidy(name)}`] : []
  })
}

function tidy(name: string): string {
  return name
    .replace(/\\(.)/g, '$1')
    .replace(/%s|\$\{\w+\}/g, '…')
    .replaceAll('<', '&lt;')
}

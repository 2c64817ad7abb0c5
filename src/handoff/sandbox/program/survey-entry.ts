// The program in Sandbox A. It mounts beside the clone, stores the commit beside the survey, drains and unmounts. The first failure ends the
// program whatever else is running, because the sandbox is destroyed then.
import { access, constants, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { artifact } from '../../domain/run.js'
import type { SummariseTask } from '../../domain/sandbox-protocol.js'
import type { Outline } from '../../domain/survey.js'
import { hashFile, type Mount, mount } from './drive9-mount.js'
import { emit, ProgramError, timeStep } from './emit-record.js'
import { type Clone, clone, fetchBase, tarOf } from './git-clone.js'
import { type Secrets, startProgram, unknownWork } from './main.js'
import { storePlainFiles, writePlainFiles } from './plain-files.js'
import { makeIndex } from './search/make-index.js'
import { cleanEnvironment, runCommand, untrustedAccount } from './spawn.js'
import { type SurveyResult, survey } from './survey/index.js'
import { runChild, untilReady } from './untrusted-child.js'
import { cloneDirectory, homeDirectory, prepareWorkDirectory, workDirectory } from './workspace.js'

async function summarise(task: SummariseTask, secrets: Secrets): Promise<void> {
  await prepareWorkDirectory()
  const [mounted, local] = await Promise.all([
    timeStep('mount', () => mountRecognizedDrive(task, secrets)),
    timeStep('clone', () => cloneBoth(task, secrets)),
  ])
  const surveyed = timeStep('survey', () => runChild('survey', task, homeDirectory))
  await Promise.all([
    timeStep('store', () => mounted.store(local.tar, `project/${task.repositoryName}.git.tar`)),
    surveyed.then(() => storeTables(mounted)),
    indexAndStore(task, mounted, surveyed),
  ])
  if (task.form === 'plain') await timeStep('store', () => addPlainFiles(task, mounted))
  await timeStep('drain', async () => {
    await mounted.drain()
    await mounted.release()
  })
}

/** The commit, and its base if there is one to compare with. Without the base the survey goes on. */
async function cloneBoth(task: SummariseTask, secrets: Secrets): Promise<Clone> {
  const account = untrustedAccount(homeDirectory)
  const local = await clone(task, workDirectory, secrets.clone, account)
  const { base } = task
  if (base === undefined) return local
  if (await fetchBase(local, task.clone.url, base, workDirectory, secrets.clone, account)) return local
  emit({ type: 'no-base', base })
  delete task.base
  return local
}

/** The tables are stored independently of the clone's tar, which may take longer than the survey. */
async function storeTables(mounted: Mount): Promise<void> {
  await timeStep('store', () =>
    Promise.all([
      mounted.store(join(workDirectory, 'files.json'), artifact.files),
      mounted.store(join(workDirectory, 'outline.json'), artifact.outline),
    ]),
  )
}

/** So that a search ranks files without reading them, and reads objects without unpacking the clone. The words are read beside the survey. */
async function indexAndStore(task: SummariseTask, mounted: Mount, surveyed: Promise<void>): Promise<void> {
  await runChild('index', task, homeDirectory, undefined, surveyed)
  await timeStep('store', () =>
    Promise.all([
      mounted.store(join(workDirectory, 'search-table.gz'), artifact.searchTable),
      mounted.store(join(workDirectory, 'search-pages'), artifact.searchPages),
    ]),
  )
}

async function indexClone({ repositoryName, clone: { sha } }: SummariseTask): Promise<void> {
  const { table, pages } = await makeIndex({
    directory: cloneDirectory(repositoryName),
    commit: sha,
    tar: tarOf(workDirectory, repositoryName),
    async readOutline() {
      await untilReady()
      return JSON.parse(await readFile(join(workDirectory, 'outline.json'), 'utf8')) as Outline
    },
  })
  await writeFile(join(workDirectory, 'search-table.gz'), table)
  await writeFile(join(workDirectory, 'search-pages'), pages)
}

async function addPlainFiles(task: SummariseTask, mounted: Mount): Promise<void> {
  await runChild('tree', task, homeDirectory)
  await storePlainFiles(
    join(workDirectory, 'tree'),
    join(workDirectory, 'tree.json'),
    mounted,
    `project/${task.repositoryName}`,
  )
}

/** An unsuitable drive9 program explains a failed mount better than the mount's own error does. */
async function mountRecognizedDrive(task: SummariseTask, secrets: Secrets): Promise<Mount> {
  const identified = identifyDrive9(homeDirectory)
  const mounting = mount(task.mount, homeDirectory, secrets.drive).catch(async (error: unknown) => {
    await identified
    throw error
  })
  const [, mounted] = await Promise.all([identified, mounting])
  return mounted
}

async function surveyClone(task: SummariseTask): Promise<void> {
  const found = await survey({
    gitDirectory: cloneDirectory(task.repositoryName),
    commit: task.clone.sha,
    limits: task.survey,
    cited: task.cited,
  })
  await writeFile(join(workDirectory, 'files.json'), found.fileTableJson())
  await writeFile(join(workDirectory, 'outline.json'), found.outlineJson())
  emit({ type: 'survey', ...found.survey })
  emit({ type: 'diagram', diagram: found.diagram })
  if (task.base !== undefined) await emitChange(found, task.base)
  for (const text of found.texts) emit({ type: 'text', ...text })
  for (const relocation of found.relocated) emit({ type: 'relocated', ...relocation })
}

/** Bytes of changed lines that are sent to the host. */
const changeBytes = 60_000

async function emitChange(found: SurveyResult, base: string): Promise<void> {
  const { change, lines, notices } = await found.describeChange(base, changeBytes)
  emit({ type: 'change', change })
  for (const piece of lines) emit({ type: 'changed-lines', ...piece })
  for (const text of notices) emit({ type: 'notice', text })
}

startProgram({
  async run(task, secrets) {
    if (task.task !== 'summarise') throw unknownWork('summarise', task)
    await summarise(task, secrets)
  },
  async child(what, task) {
    if (task.task !== 'summarise') throw unknownWork(what, task)
    if (what === 'survey') return surveyClone(task)
    if (what === 'index') return indexClone(task)
    if (what === 'tree') {
      const directory = cloneDirectory(task.repositoryName)
      return writePlainFiles(directory, task.clone.sha, join(workDirectory, 'tree'), join(workDirectory, 'tree.json'))
    }
    throw unknownWork(what, task)
  },
})

// Identifies the drive9 program of the sandbox for the run's record, and refuses one without `mount drain` before it stores anything.

const timeoutMs = 20_000

/** `mount drain` is the newest feature that is used here, so a program that has it has the others too. */
async function identifyDrive9(home: string): Promise<void> {
  const ask = (...words: string[]) => runCommand('drive9', words, home, { timeoutMs })
  const [about, help, sha256] = await Promise.all([
    ask('--version'),
    ask('mount', 'drain', '--help'),
    hashProgram('drive9', home),
  ])
  const version = /^version:\s*(\S{1,100})/m.exec(about.stdout + about.stderr)?.[1] ?? 'unknown'
  emit({ type: 'drive9', version, sha256 })
  if (/drive9 mount drain/.test(help.stdout + help.stderr) && help.exitCode === 0) return
  throw new ProgramError(
    'drive9-too-old',
    `the drive9 program, version ${version} (sha256 ${sha256}), has no "mount drain"`,
  )
}

async function hashProgram(name: string, home: string): Promise<string> {
  for (const folder of cleanEnvironment(home)['PATH']?.split(':') ?? []) {
    const path = join(folder, name)
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return (await hashFile(path)).sha256
  }
  throw new ProgramError('tool-missing', `The sandbox has no program called ${name}.`)
}

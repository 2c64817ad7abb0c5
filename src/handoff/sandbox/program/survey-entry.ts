// The program in Sandbox A: mounts beside the clone, stores the commit beside the survey and its tables, drains and unmounts. The first
// failure ends the program, whatever else is under way: the machine is destroyed then.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { artifact } from '../../domain/run.js'
import type { SummariseTask } from '../../domain/sandbox-protocol.js'
import { type Mount, mount } from './drive9-mount.js'
import { identifyDrive9 } from './drive9-program.js'
import { say, timed } from './emit-record.js'
import { clone } from './git-clone.js'
import { type Secrets, start, unknownWork } from './main.js'
import { plantTree, storeTree } from './plain-files.js'
import { untrustedAccount } from './spawn.js'
import { survey } from './survey/index.js'
import { runChild } from './untrusted-child.js'
import { cloneDirectory, home, openWork, work } from './workspace.js'

async function summarise(task: SummariseTask, secrets: Secrets): Promise<void> {
  await openWork()
  const [mounted, local] = await Promise.all([
    timed('mount', () => mountIdentified(task, secrets)),
    timed('clone', () => clone(task, work, secrets.clone, untrustedAccount(home))),
  ])
  await Promise.all([
    timed('store', () => mounted.store(local.tar, `project/${task.repositoryName}.git.tar`)),
    surveyAndStore(task, mounted),
  ])
  if (task.form === 'plain') await timed('store', () => plainForm(task, mounted))
  await timed('drain', async () => {
    await mounted.drain()
    await mounted.release()
  })
}

/** The tables do not wait for the clone's tar, which may take longer to store than the survey takes. */
async function surveyAndStore(task: SummariseTask, mounted: Mount): Promise<void> {
  await timed('survey', () => runChild('survey', task, home))
  await timed('store', () =>
    Promise.all([
      mounted.store(join(work, 'files.json'), artifact.files),
      mounted.store(join(work, 'outline.json'), artifact.outline),
    ]),
  )
}

async function plainForm(task: SummariseTask, mounted: Mount): Promise<void> {
  await runChild('tree', task, home)
  await storeTree(join(work, 'tree'), join(work, 'tree.json'), mounted, `project/${task.repositoryName}`)
}

/** A program that cannot do what is needed of it is a better reason than the mount that failed because of it. */
async function mountIdentified(task: SummariseTask, secrets: Secrets): Promise<Mount> {
  const identified = identifyDrive9(home)
  const mounting = mount(task.mount, home, secrets.drive, false).catch(async (error: unknown) => {
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
  })
  await writeFile(join(work, 'files.json'), found.files())
  await writeFile(join(work, 'outline.json'), found.outlines())
  say({ type: 'survey', ...found.survey })
  for (const text of found.texts) say({ type: 'text', ...text })
}

start({
  async run(task, secrets) {
    if (task.task !== 'summarise') throw unknownWork('summarise', task)
    await summarise(task, secrets)
  },
  async child(what, task) {
    if (task.task !== 'summarise') throw unknownWork(what, task)
    if (what === 'survey') return surveyClone(task)
    if (what === 'tree') {
      const directory = cloneDirectory(task.repositoryName)
      return plantTree(directory, task.clone.sha, join(work, 'tree'), join(work, 'tree.json'))
    }
    throw unknownWork(what, task)
  },
})

// The template builder: checks a definition, reports the build as the real service does, and registers the template's name.
//
// It runs no build step, because an `apt-get` in a definition must not change this machine. Every template is this machine.
import { randomUUID } from 'node:crypto'
import { freshId, json, type Reply } from '../faulty-server.js'
import { Refusal } from './connect-protocol.js'

export interface Template {
  id: string
  name: string
  tags: string[]
  cpuCount?: number
  memoryMB?: number
  /** The last one is the newest. */
  builds: TemplateBuild[]
}

interface TemplateBuild {
  id: string
  fromImage?: string
  fromTemplate?: string
  startCmd?: string
  steps: { type: string; args: string[] }[]
  status: 'waiting' | 'building' | 'ready' | 'error'
  log: { timestamp: string; level: 'info' | 'error'; message: string; step: string }[]
  reason?: { message: string; step: string }
  createdAt: string
  /** A build in the background ends this long after it began, whether or not its log is read. */
  readyAt: number
}

export interface TemplateShelf {
  /** E2B's own, in every account. */
  base: Template
  templates: Template[]
  /** How the next builds end: with this error, at this step, counted from 1. */
  failures: { step: number; message: string }[]
  /** How long a build takes for those who do not watch it. */
  buildMilliseconds: number
}

const families = /(^|\/)(debian|ubuntu|fedora|alpine|archlinux|python|node|oven\/bun|e2bdev\/base)(:|$)/
const stepTypes = new Set(['RUN', 'COPY', 'ENV', 'WORKDIR', 'USER'])
const entriesPerPoll = 100

export function makeTemplateShelf(names: readonly string[], buildMilliseconds: number): TemplateShelf {
  const own = names.filter((name) => name !== 'base').map(newTemplate)
  return { base: newTemplate('base'), templates: own, failures: [], buildMilliseconds }
}

/** By name, by `name:tag`, or by id. */
export function findTemplate({ base, templates }: TemplateShelf, reference: string): Template | undefined {
  const [name, tag = 'default'] = reference.split(':')
  return [...templates, base].find(
    (entry) => entry.id === reference || (entry.name === name && entry.tags.includes(tag)),
  )
}

/** Those that were there from the start have no builds. */
export function isReady({ builds }: Template): boolean {
  for (const build of builds) finishInTime(build)
  return builds.length === 0 || builds.some(({ status }) => status === 'ready')
}

function finishInTime(build: TemplateBuild): void {
  if (build.status === 'building' && Date.now() >= build.readyAt) build.status = build.reason ? 'error' : 'ready'
}

export function requestBuild(shelf: TemplateShelf, body: Record<string, unknown>): Reply {
  const [name = '', tag] = String(body['name'] ?? '').split(':')
  if (!/^[a-z0-9-_]{1,128}$/.test(name) || name === 'base') throw new Refusal(400, `Invalid name: ${name}`)
  const asked = [...(tag ? [tag] : []), ...((body['tags'] as string[] | undefined) ?? [])]
  // A build with tags but without `default` cannot be found by its bare name.
  const tags = asked.length > 0 ? [...new Set(asked)] : ['default']
  const known = shelf.templates.find((entry) => entry.name === name)
  const template = known ?? { ...newTemplate(name), tags: [] }
  if (!known) shelf.templates.push(template)
  template.tags = [...new Set([...template.tags, ...tags])]
  for (const size of ['cpuCount', 'memoryMB'] as const) if (body[size]) template[size] = body[size] as number
  const build: TemplateBuild = {
    id: randomUUID(),
    steps: [],
    status: 'waiting',
    log: [],
    createdAt: new Date().toISOString(),
    readyAt: 0,
  }
  template.builds.push(build)
  return json(202, { templateID: template.id, buildID: build.id, names: [name], aliases: [name], tags, public: false })
}

function newTemplate(name: string): Template {
  return { id: freshId().slice(0, 20), name, tags: ['default'], builds: [] }
}

export function startBuild(shelf: TemplateShelf, id: string, buildId: string, body: Record<string, unknown>): Reply {
  const build = buildOf(shelf, id, buildId)
  if (build.status !== 'waiting') throw new Refusal(400, 'build is not in waiting state')
  const { fromImage, fromTemplate, startCmd, steps = [] } = body as Partial<TemplateBuild>
  const odd = steps.find((step) => !stepTypes.has(step.type))
  if (odd) throw new Refusal(400, `unsupported step type: ${odd.type}`)
  // A build that begins ends the others of its template that are under way.
  for (const other of templateOf(shelf, id).builds) {
    if (other === build || other.status !== 'building') continue
    Object.assign(other, { status: 'error', reason: { step: 'base', message: 'the build was cancelled' } })
  }
  const readyAt = Date.now() + shelf.buildMilliseconds
  Object.assign(
    build,
    { steps, status: 'building', readyAt },
    fromImage && { fromImage },
    fromTemplate && { fromTemplate },
  )
  if (startCmd) build.startCmd = startCmd
  writeLog(build, shelf.failures.shift())
  return { status: 202 }
}

/** All of it at once. A client sees it grow, for a poll gives only so many entries, and the build goes on until the last was given. */
function writeLog(build: TemplateBuild, failure: TemplateShelf['failures'][number] | undefined): void {
  const say = (message: string, step: string, level: 'info' | 'error' = 'info') =>
    build.log.push({ timestamp: new Date().toISOString(), level, message, step })
  say(`FROM ${build.fromTemplate ?? build.fromImage}`, 'base')
  if (build.fromImage && !families.test(build.fromImage))
    build.reason = { step: 'base', message: `unsupported base image: ${build.fromImage}` }
  for (const [index, { type, args }] of build.steps.entries()) {
    if (build.reason) break
    say(`[${index + 1}/${build.steps.length}] ${type} ${args[0] ?? ''}`, String(index + 1))
    if (failure?.step === index + 1) build.reason = { step: String(index + 1), message: failure.message }
  }
  if (build.reason) say(build.reason.message, build.reason.step, 'error')
  else say('the template is ready', 'finalize')
}

export function reportBuild(shelf: TemplateShelf, id: string, buildId: string, offset: number): Reply {
  const build = buildOf(shelf, id, buildId)
  const { status, reason } = build
  const logEntries = build.log.slice(offset, offset + entriesPerPoll)
  const allSent = offset + logEntries.length >= build.log.length
  if (status === 'building' && allSent) build.status = reason ? 'error' : 'ready'
  const because = status === 'error' && reason ? { reason } : {}
  return json(200, { templateID: id, buildID: buildId, status, logEntries, logs: [], ...because })
}

/** Of those that were there from the start. */
const builtLongAgo = { id: randomUUID(), status: 'ready', createdAt: new Date(0).toISOString() }

/** With its builds, the newest first. */
export function describeTemplate(shelf: TemplateShelf, id: string): Reply {
  const { name, builds, cpuCount = 2, memoryMB = 1_024 } = templateOf(shelf, id)
  for (const build of builds) finishInTime(build)
  return json(200, {
    templateID: id,
    names: [name],
    aliases: [name],
    public: false,
    builds: (builds.length > 0 ? builds : [builtLongAgo])
      .map((build) => ({
        buildID: build.id,
        status: build.status,
        createdAt: build.createdAt,
        updatedAt: build.createdAt,
        cpuCount,
        memoryMB,
      }))
      .reverse(),
  })
}

export function nameTemplate(shelf: TemplateShelf, alias: string): Reply {
  const found = findTemplate(shelf, alias)
  if (!found) throw new Refusal(404, `template '${alias}' not found`)
  return json(200, { templateID: found.id, public: false })
}

function templateOf({ templates }: TemplateShelf, id: string): Template {
  const found = templates.find((entry) => entry.id === id)
  if (found) return found
  throw new Refusal(404, `Template '${id}' not found`)
}

function buildOf(shelf: TemplateShelf, id: string, buildId: string): TemplateBuild {
  const build = templateOf(shelf, id).builds.find((entry) => entry.id === buildId)
  if (build) return build
  throw new Refusal(400, `Build '${buildId}' not found`)
}

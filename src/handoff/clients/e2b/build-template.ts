// The template of our sandboxes, built with E2B's own builder: everything that a run needs is there before the sandbox starts.
import type { LogEntry } from 'e2b'
import { HandoffError } from '../../domain/errors.js'
import { recipe, templateImage, templateName, templateSize } from './install-scripts.js'
import { type Program, publishedProgram } from './release.js'
import type { ClientSettings } from './sdk-calls.js'
import { asOurs, makeService, replied, type Service } from './sdk-calls.js'

export type TemplateSettings = Omit<ClientSettings, 'onNotice'>

interface BuiltTemplate {
  name: string
  tags: string[]
  templateId: string
  buildId: string
  drive9: Program
}

/** Waits until the template can be used. The steps are shown as they are carried out; what they print may be anything. */
export async function buildTemplate(
  settings: TemplateSettings,
  onLog: (line: string) => void,
  signal: AbortSignal,
): Promise<BuiltTemplate> {
  const service = makeService(settings)
  const name = buildableName(service.settings)
  const program = await publishedProgram(service.settings.binary, signal)
  const { Template } = await service.sdk()
  const tags = tagsFor(program)
  const onBuildLogs = (entry: LogEntry) => onLog(entry.message)
  const options = { ...service.connection(signal), ...templateSize, tags, onBuildLogs }
  const build = async () => Template.build(await definition(service, program), name, options)
  const { templateId, buildId } = await asOurs(signal, `Building the template ${name}`, build)
  return { name, tags, templateId, buildId, drive9: program }
}

/** Whether runs with these settings find their template ready, and its name. `base` is always there. */
export async function findTemplate(
  settings: TemplateSettings,
  signal: AbortSignal,
): Promise<{ name: string; ready: boolean }> {
  const service = makeService(settings)
  const { template: name = templateName(service.settings.binary) } = service.settings
  if (name.split(':')[0] === 'base') return { name, ready: true }
  const newest = await asOurs(signal, `Looking for the template ${name}`, () =>
    newestBuild(service, name.split(':')[0] ?? name, signal),
  )
  return { name, ready: newest?.status === 'ready' }
}

/**
 * Has E2B build our template for later runs, and returns what became of that as a sentence. A build that is under way is left alone: E2B would
 * end it for the new one. One that failed is tried again after an hour.
 */
export async function buildInBackground(service: Service, program: Program, signal: AbortSignal): Promise<string> {
  const name = templateName(service.settings.binary)
  return asOurs(signal, `Starting the build of the template ${name}`, async () => {
    const state = await newestBuild(service, name, signal)
    if (state?.status === 'ready') return `The template ${name} is ready now; later runs start from it.`
    if (state && state.minutes < patience[state.status]) return sentences[state.status](name)
    const { Template } = await service.sdk()
    const template = await definition(service, program)
    await replied(service, signal, (connection) =>
      Template.buildInBackground(template, name, { ...connection, ...templateSize, tags: tagsFor(program) }),
    )
    return `E2B is building the template ${name} now; runs that begin when it is ready start from it.`
  })
}

type Status = 'waiting' | 'building' | 'error'

/** Minutes for which a build in this state is not started again. E2B itself ends a build after an hour. */
const patience: Record<Status, number> = { waiting: 10, building: 60, error: 60 }

const sentences: Record<Status, (name: string) => string> = {
  waiting: (name) => `E2B is about to build the template ${name}.`,
  building: (name) => `E2B is still building the template ${name}.`,
  error: (name) => `The last build of the template ${name} failed; \`npm run template\` shows its log.`,
}

/** The SDK tells of a build only to those who know its id, so this asks the API that it wraps. */
async function newestBuild(
  service: Service,
  name: string,
  signal: AbortSignal,
): Promise<{ status: Status | 'ready'; minutes: number } | undefined> {
  const { ApiClient, ConnectionConfig } = await service.sdk()
  const known = await replied(service, signal, (connection) =>
    new ApiClient(new ConnectionConfig(connection)).api.GET('/templates/aliases/{alias}', {
      params: { path: { alias: name } },
      signal,
    }),
  )
  if (known.response.status === 404) return undefined
  const { templateID } = dataOf(known)
  const found = await replied(service, signal, (connection) =>
    new ApiClient(new ConnectionConfig(connection)).api.GET('/templates/{templateID}', {
      params: { path: { templateID } },
      signal,
    }),
  )
  const builds = [...dataOf(found).builds].sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
  const [newest] = builds
  if (newest === undefined) return undefined
  return { status: newest.status, minutes: (Date.now() - Date.parse(newest.createdAt)) / 60_000 }
}

function dataOf<T>({ data, response }: { data?: T; response: Response }): T {
  if (data !== undefined) return data
  throw Object.assign(new Error(`The API answered with ${response.status}.`), { statusCode: response.status })
}

async function definition(service: Service, program: Program) {
  const { Template } = await service.sdk()
  return recipe.reduce(
    (template, { script }) => template.runCmd(withProgram(script, program), { user: 'root' }),
    Template().fromUbuntuImage(templateImage),
  )
}

/** Without `default` among them, tags would hide the template from those who ask for it by its bare name. */
const tagsFor = ({ sha256 }: Program) => ['default', `drive9-${sha256.slice(0, 12)}`]

/** A build has no environment of ours, so both stand in the command; neither is a secret, and both were checked for what a shell might read. */
function withProgram(script: string, { url, sha256 }: Program): string {
  if (!script.includes('$DRIVE9_BINARY_URL')) return script
  const values = `export DRIVE9_BINARY_URL='${new URL(url).href.replaceAll("'", '%27')}' DRIVE9_BINARY_SHA256=${sha256}`
  return script.replace('\n', () => `\n${values}\n`)
}

function buildableName({ template, binary }: Service['settings']): string {
  const name = template ?? templateName(binary)
  if (/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name) && name !== 'base') return name
  throw new HandoffError('invalid-input', 'E2B_TEMPLATE cannot name a template that we build.', {
    next: 'Leave it empty, or use lowercase letters, digits and dashes, and not “base”, which is E2B’s own.',
  })
}

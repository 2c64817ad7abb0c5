// Which clouds a command uses: the real one where its key is set, one on this machine where it is not, and which is which in words.

import { type GitRemote, startGitRemote } from '../emulators/git-http-server.js'
import { localModelNamed, localModels, offlineModel } from '../emulators/model/models.js'
import { type Clouds, startClouds } from '../emulators/start-all.js'
import { exampleModel } from '../handoff/domain/model-prices.js'
import { type Environment, HandoffError, parseSettings, refuseImpossibleMix, type Settings } from '../handoff/index.js'
import { isLoopback } from '../handoff/util/http-url.js'

export interface OpenClouds extends AsyncDisposable {
  introduction: { name: string; where: string }[]
  settings(): Settings
  environment: Record<string, string | undefined>
  /** Serves a repository of this machine by HTTP, as a git host would; returns its clone address. */
  serve(directory: string, name: string): Promise<string>
  refuseImpossibleMix(cloneUrl: string): void
  local: Clouds
}

const clouds = [
  { name: 'sandboxes', key: 'E2B_API_KEY', real: 'E2B', local: 'on this machine; set E2B_API_KEY for real ones' },
  {
    name: 'drive9',
    key: 'DRIVE9_API_KEY',
    real: '',
    local: 'on this machine, in memory; set DRIVE9_API_KEY for a real one',
  },
  {
    name: 'model',
    key: 'LLM_API_KEY',
    real: '',
    local: 'on this machine: no model, it quotes; set LLM_API_KEY for a real one',
  },
] as const

const has = (environment: Environment, name: string) => (environment[name] ?? '').trim() !== ''

export async function openClouds(environment: Environment): Promise<OpenClouds> {
  if (!has(environment, 'LLM_API_KEY') && has(environment, 'LLM_BASE_URL')) {
    throw new HandoffError('missing-setting', 'LLM_BASE_URL is set and LLM_API_KEY is not.', {
      next: 'Set LLM_API_KEY too (any text for a server that wants none), or take LLM_BASE_URL out to use the local one.',
    })
  }
  const model = localModel(environment['LLM_MODEL']?.trim() ?? '')
  const local = await startClouds({
    ...(has(environment, 'E2B_API_KEY') ? { sandboxes: false } : {}),
    ...(has(environment, 'DRIVE9_API_KEY') ? { drive: false } : {}),
    ...(has(environment, 'LLM_API_KEY') ? { model: false } : { model: { name: model } }),
  })
  try {
    return opened(environment, local)
  } catch (error) {
    // A setting is missing or wrong: the process is to end with that word, and servers would keep it.
    await local.close()
    throw error
  }
}

/** LLM_MODEL names a local model, or one of a service whose key is not there yet: then the plain local one answers. */
function localModel(name: string): string {
  const known = localModelNamed(name)?.name
  if (known === undefined && name.startsWith('offline')) {
    throw new HandoffError('invalid-input', `There is no local model ${name}.`, {
      next: `LLM_MODEL may be ${localModels.map((model) => model.name).join(', ')}.`,
    })
  }
  return known ?? offlineModel
}

function opened(environment: Environment, local: Clouds): OpenClouds {
  const merged = { ...environment, ...usualModel(environment), ...local.settings }
  const remotes: GitRemote[] = []
  const parsed = parseSettings(merged)
  const settings = () => parsed
  return {
    introduction: clouds.map(({ name, key, local: here }) => ({
      name,
      where: has(environment, key) ? whereReal(name, settings()) : whereLocal(name, here, settings()),
    })),
    settings,
    environment: merged,
    local,
    async serve(directory, name) {
      const remote = await startGitRemote({ repositories: { [name]: directory } })
      remotes.push(remote)
      return remote.cloneUrl(name)
    },
    refuseImpossibleMix(cloneUrl) {
      refuseImpossibleMix(parsed.sandboxes.apiUrl, [
        { what: 'drive9', url: settings().drive.server },
        { what: 'the git repository', url: cloneUrl },
      ])
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(remotes.map((remote) => remote.close()))
      await local.close()
    },
  }
}

/** With a key alone the service is OpenAI's, which has the model that the documents name. */
function usualModel(environment: Environment): Environment {
  return has(environment, 'LLM_BASE_URL') || has(environment, 'LLM_MODEL') ? {} : { LLM_MODEL: exampleModel }
}

const whereLocal = (name: string, where: string, settings: Settings) =>
  name === 'model' ? `${settings.model.name} ${where}` : where

function whereReal(name: string, settings: Settings): string {
  if (name === 'sandboxes')
    return `E2B, ${settings.sandboxes.template === undefined ? 'our own template' : `template ${settings.sandboxes.template}`}`
  if (name === 'drive9')
    return `${settings.drive.server}${isLoopback(new URL(settings.drive.server)) ? ' (on this machine)' : ''}`
  return `${settings.model.name} at ${new URL(settings.model.baseUrl).host}`
}

// Checks the key and the model with one free request, before anything is paid for. A service that lists no models or does not answer passes: the
// first call reports what is wrong.
import { HandoffError } from '../../domain/errors.js'
import { quote } from '../../domain/run.js'
import { parseJson } from '../../util/decode.js'
import { fetchText } from '../../util/http.js'
import type { ModelConfig } from './config.js'
import { keyRefused } from './errors.js'

const timeoutMs = 5_000

export async function checkModel(config: ModelConfig, host: string): Promise<void> {
  const listed = await get(config, '/models')
  if (listed === undefined) return
  if (listed.status === 401 || listed.status === 403) throw keyRefused(host, listed.status)
  const names = listed.status === 200 ? namesIn(listed.text) : []
  if (names.length === 0 || names.some((name) => isSame(name, config.name)) || listsOtherNames(host)) return
  // Some services accept names that they do not list.
  const one = await get(config, `/models/${encodeURIComponent(config.name)}`)
  if (one === undefined || one.status === 200) return
  const some = names.slice(0, 5).map(quote).join(', ')
  throw new HandoffError('model', `The model’s service at ${host} does not have the model ${quote(config.name)}.`, {
    next: `Look at LLM_MODEL. The service has ${some}${names.length > 5 ? ` and ${names.length - 5} more` : ''}.`,
  })
}

/** Undefined when no reply came: the model's own request will say why, and a service without this address is no error. */
async function get(config: ModelConfig, path: string) {
  try {
    return await fetchText(`${config.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${config.apiKey}`, accept: 'application/json' },
      timeoutMs,
    })
  } catch {
    return undefined
  }
}

function namesIn(text: string): string[] {
  const { data } = (parseJson(text) ?? {}) as { data?: { id?: unknown }[] }
  return (Array.isArray(data) ? data : []).map((one) => one?.id).filter((id) => typeof id === 'string')
}

/** `models/gemini-2.5-flash` is `gemini-2.5-flash`, and `llama3` is `llama3:latest`. */
function isSame(listed: string, name: string): boolean {
  const plain = (one: string) =>
    one
      .toLowerCase()
      .replace(/^models\//, '')
      .replace(/:latest$/, '')
  return plain(listed) === plain(name)
}

/** Azure lists models that can be deployed; requests name a deployment. */
const listsOtherNames = (host: string) => /\.azure\.com(:\d+)?$/.test(host)

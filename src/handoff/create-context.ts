// Creates the clients from the settings. Only this file and create-read-context.ts know which client implements which interface. Does no input or
// output: SDKs, and clients that not every question needs, are loaded when their first call needs them.
import { makeDrive } from './clients/drive9/client.js'
import type { ClientSettings } from './clients/e2b/sdk-calls.js'
import { makeModel } from './clients/openai/client.js'
import { systemClock } from './clients/system-clock.js'
import type { AppContext } from './context.js'
import { createReadContext, gitLater, uniqueId } from './create-read-context.js'
import { withoutInvisible } from './domain/markdown/clean-text.js'
import type { Clock, Journal, Model, ModelReply, ModelRequest, Sandboxes } from './domain/ports.js'
import type { RunEvent } from './domain/run-events.js'
import { makeRedactor, makeStreamRedactor } from './domain/secrets/redactor.js'
import type { Settings } from './domain/settings.js'
import type { LoadProgram } from './sandbox/run-program.js'
import { noBudgets } from './store/caller-budgets.js'
import { lazy } from './util/lazy.js'
import { unlimitedAdmission } from './workflows/answer/admission.js'
import type { CorrectContext } from './workflows/pull-request/correct.js'

interface Wiring {
  program: LoadProgram
  emit: (event: RunEvent) => void
  /** Opens private repositories for reading; only ever sent to the origin of the clone address. */
  cloneToken?: string | undefined
  /** Further secrets of the entry point. They are redacted in what the model reads and writes, and in what is stored. */
  secrets?: readonly string[]
  /** Redacts secrets in text, also those that only the entry point knows. */
  redact?: (text: string) => string
  clock?: Clock
}

export function createContext(settings: Settings, wiring: Wiring): AppContext {
  const notice = (text: string) => wiring.emit({ type: 'notice', text })
  const token = wiring.cloneToken ?? settings.cloneToken
  const { drive, model, limits } = settings
  const own = [settings.sandboxes.apiKey, drive.apiKey, model.apiKey, ...(token === undefined ? [] : [token])]
  const secrets = [...new Set([...own, ...(wiring.secrets ?? [])])]
  return {
    ports: {
      sandboxes: sandboxesLater({ ...settings.sandboxes, onNotice: notice }),
      drive: makeDrive({ server: drive.server, key: drive.apiKey, hosts: drive.objectHosts }),
      model: guardModel(makeModel(model), secrets),
      git: gitLater({ token }),
      clock: wiring.clock ?? systemClock,
      uniqueId,
      emit: wiring.emit,
    },
    admission: unlimitedAdmission,
    budgets: noBudgets,
    program: wiring.program,
    root: drive.root,
    limits: { ...limits, modelRequests: model.concurrency },
    drive9Sha256: settings.sandboxes.binary.sha256,
    instructions: settings.instructions,
    ...(model.prices ? { prices: model.prices } : {}),
    ...(settings.journal ? { journal: journalLater({ server: drive.server, key: drive.apiKey }) } : {}),
    redact: wiring.redact ?? makeRedactor(secrets),
  }
}

/** For `/correct`, which writes one file and a note in the journal. */
export function createCorrectContext(
  drive: Settings['drive'],
  { journal, emit }: { journal: boolean; emit: (event: RunEvent) => void },
): CorrectContext {
  const reading = createReadContext(drive)
  return {
    ...reading,
    ports: { ...reading.ports, emit },
    ...(journal ? { journal: journalLater({ server: drive.server, key: drive.apiKey }) } : {}),
  }
}

function sandboxesLater(settings: ClientSettings): Sandboxes {
  const sandboxes = lazy(async () => (await import('./clients/e2b/client.js')).makeSandboxes(settings))
  return {
    open: async (...call) => (await sandboxes()).open(...call),
    find: async (...call) => (await sandboxes()).find(...call),
    kill: async (...call) => (await sandboxes()).kill(...call),
    endedOutside: async (...call) => (await sandboxes()).endedOutside(...call),
    warm: async () => (await sandboxes()).warm?.(),
  }
}

function journalLater(settings: { server: string; key: string }): Journal {
  const journal = lazy(async () => (await import('./clients/drive9/journal.js')).makeJournal(settings))
  return {
    append: async (...call) => (await journal()).append(...call),
    entries: async function* (...call) {
      yield* (await journal()).entries(...call)
    },
    verify: async (...call) => (await journal()).verify(...call),
  }
}

// Redacts what a model is sent and what it replies. A repository may contain one of our keys, and a model may know one from elsewhere.
// Replies are stored and shown. Later steps remove invisible characters, so they are removed before the search: they could split a key.

export function guardModel(model: Model, secrets: readonly string[]): Model {
  const redact = makeRedactor(secrets)

  async function complete(request: ModelRequest): Promise<ModelReply> {
    const messages = request.messages.map((message) => ({ ...message, content: redact(message.content) }))
    const { onText } = request
    if (!onText) return redactedReply(await model.complete({ ...request, messages }))
    const stream = makeStreamRedactor(secrets)
    const hand = (text: string) => {
      if (text !== '') onText(text)
    }
    const reply = await model.complete({
      ...request,
      messages,
      onText: (piece) => hand(stream.push(withoutInvisible(piece))),
    })
    hand(stream.end())
    return redactedReply(reply)
  }

  const redactedReply = (reply: ModelReply): ModelReply => ({ ...reply, text: redact(withoutInvisible(reply.text)) })
  return { ...model, complete }
}

// A question in a comment: the conversation below it, to its end. The same as in the Action; here is how the service comes by the answer.
import type * as House from '../src/handoff/index.js'
import type { Door } from './_door.js'
import { type Outcome, type Placed, startJob } from './_job.js'
import { problemOf } from './_problem.js'

export interface Talk {
  here: Door
  house: typeof House
  service: House.Service
  github: House.GitHub
  note: House.AcceptedNote
  /** When the work must be over, in milliseconds since 1970. */
  workBy: number
}

type Asked = NonNullable<House.AcceptedNote['asked']>
type Reply = Outcome & { notes: string[] }
type Progress = (text: string) => void

export async function talk(of: Talk): Promise<void> {
  const { here, house, service, github, note, workBy } = of
  const { asked, post } = note
  if (!asked || !post || !('thread' in post)) return
  const signal = AbortSignal.timeout(Math.max(1, workBy - Date.now()))
  const { host, owner, name } = note.repository
  const { serverUrl } = here.settings.github
  const ending = await house.talk<Reply>({
    github,
    target: post,
    question: asked.text,
    redact: service.house.redact,
    place: { host, repository: `${owner}/${name}`, serverUrl, permalinks: 'github' },
    clock: service.clock,
    onNotice: () => {},
    signal,
    answer: (wanted, onProgress) => answer(of, asked, wanted, onProgress, signal),
  })
  // What time or a limit ended stays noted, and the cron goes on with it.
  const passes = 'error' in ending && mayPass.has(problemOf(ending.error).code)
  if (!passes) await house.promiseKept(service, note.answer)
}

const mayPass = new Set(['timeout', 'sandbox-limit', 'model-limit'])

/** From the first of the places that has a run. */
async function answer(
  of: Talk,
  asked: Asked,
  { thread, places }: House.TalkQuestion,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<Reply> {
  const { house } = of
  for (const place of places) {
    try {
      const outcome = await answerAt(of, asked, thread, place.name, onProgress, signal)
      return { ...outcome, notes: place.note === undefined ? [] : [place.note] }
    } catch (error) {
      const unread = house.isHandoffError(error, 'not-found') || house.isHandoffError(error, 'not-sealed')
      if (!unread || place === places.at(-1)) throw error
    }
  }
  throw new house.HandoffError('not-found', 'There is no summary yet.')
}

function answerAt(
  { here, house, service, github, note, workBy }: Talk,
  asked: Asked,
  thread: string,
  name: House.RunName,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<Outcome> {
  const { repository } = note
  const fullName = `${repository.owner}/${repository.name}`
  const { serverUrl } = here.settings.github
  const emit = (event: House.RunEvent) => {
    const text = house.progressOf(event, fullName)
    if (text !== undefined) onProgress(text)
  }
  const order = {
    door: here,
    service,
    visit: { caller: note.caller, workBy, emit, labels: { request: 'webhook' } },
    request: {
      repository,
      strict: true,
      cloneUrl: `${serverUrl}/${fullName}.git`,
      name,
      github: async () => github,
      question: {
        text: asked.text,
        asker: asked.asker,
        thread,
        ...(asked.fresh ? { fresh: true, nonce: note.answer } : {}),
      },
    },
  }
  const listener = {
    onAccepted: (_place: Placed) => {},
    onJoined: (_place: Placed) => onProgress('Somebody asked the same; waiting for that answer…'),
    onPosition: (position: number) => onProgress(`Waiting for a sandbox; ${position} in the queue…`),
  }
  return startJob(order, signal, listener).outcome
}

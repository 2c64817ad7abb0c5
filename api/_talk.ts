// A question in a comment: the conversation below it, to its end. The same conversation as in the Action, in the same words.
import type * as House from '../src/handoff/index.js'
import { commentParts } from './_comment.js'
import type { Door } from './_door.js'
import { type Outcome, type Placed, startJob } from './_job.js'
import { problemOf } from './_problem.js'
import type { Viewer } from './_views.js'

export interface Talk {
  here: Door
  house: typeof House
  service: House.Service
  github: House.GitHub
  note: House.AcceptedNote
  /** When the work must be over, in milliseconds since 1970. */
  workBy: number
}

interface Asked {
  target: House.AskTarget
  asked: NonNullable<House.AcceptedNote['asked']>
}

type Reply = Outcome & { notes: string[] }

export async function talk(of: Talk): Promise<void> {
  const { house, service, github, note, workBy } = of
  if (!note.asked || !note.post || !('thread' in note.post)) return
  const asked: Asked = { target: note.post, asked: note.asked }
  const signal = AbortSignal.timeout(Math.max(1, workBy - Date.now()))
  const viewer: Viewer = { house, serverUrl: of.here.settings.github.serverUrl }
  const ending = await house.converse<Reply>({
    github,
    target: asked.target,
    question: asked.asked.text,
    harmless: house.safeText,
    clock: service.clock,
    onNotice: () => {},
    signal,
    answer: (onProgress) => answer(of, asked, viewer, onProgress, signal),
    render: ({ record, seen, reused, notes }) =>
      commentParts(
        { github, viewer, seen, record, reused, notes, signal: AbortSignal.timeout(20_000) },
        asked.asked.pull,
      ),
  })
  // What time or a limit ended stays noted, and the cron goes on with it.
  const passes = 'error' in ending && mayPass.has(problemOf(ending.error).code)
  if (!passes) await house.promiseKept(service, note.answer)
}

const mayPass = new Set(['timeout', 'sandbox-limit', 'model-limit'])

interface Place {
  name: House.RunName
  notes: string[]
}

/** About the head as it is when the question is taken; where it has no summary yet, about the newest of the branch it goes to. */
async function answer(
  of: Talk,
  { asked }: Asked,
  viewer: Viewer,
  onProgress: (text: string) => void,
  signal: AbortSignal,
): Promise<Reply> {
  const { github, note, house } = of
  const name = `${note.repository.owner}/${note.repository.name}`
  const { head, base } = await github.pull(name, asked.pull, { signal })
  const older = `The head commit ${head.sha.slice(0, 7)} has no summary yet, so this is answered from the newest one of ${base.ref}.`
  const places: Place[] = [
    { name: { commit: head.sha }, notes: [] },
    { name: { ref: `refs/heads/${base.ref}` }, notes: [older] },
  ]
  for (const place of places) {
    try {
      return { ...(await answerAt(of, asked, viewer, place.name, onProgress, signal)), notes: place.notes }
    } catch (error) {
      const unread = house.isHandoffError(error, 'not-found') || house.isHandoffError(error, 'not-sealed')
      if (!unread || place === places.at(-1)) throw error
    }
  }
  throw new house.HandoffError('not-found', 'There is no summary yet.')
}

function answerAt(
  { here, service, note, workBy }: Talk,
  asked: Asked['asked'],
  viewer: Viewer,
  name: House.RunName,
  onProgress: (text: string) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  const { repository } = note
  const words = new Map<string, string>(Object.entries(progressWords))
  const emit = (event: House.RunEvent) => {
    const text = event.type === 'step-start' ? words.get(event.step) : undefined
    if (text !== undefined) onProgress(text)
  }
  const order = {
    door: here,
    service,
    viewer,
    visit: { caller: note.caller, workBy, emit, labels: { request: 'webhook' } },
    request: {
      repository,
      strict: true,
      cloneUrl: `${viewer.serverUrl}/${repository.owner}/${repository.name}.git`,
      name,
      question: {
        text: asked.text,
        asker: asked.asker,
        ...(asked.thread === undefined ? {} : { thread: asked.thread }),
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

const progressWords = {
  'open sandbox': 'Starting a sandbox…',
  find: 'Reading the code…',
  answer: 'Writing the answer…',
}

// The tool ask_question: the same question, answer, id and budget as POST /api/ask.
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { parseRunName } from '../../handoff/index-for-stored-answers.js'
import { answerInTime } from '../ask/answer.js'
import type { AskBody } from '../ask/ask-body.js'
import { type Found, findQuestion, readQuestion } from '../ask/question.js'
import { divideTime } from '../http/request-deadline.js'
import { pendingView } from '../http/responses.js'
import { answerResult } from './answer-result.js'
import { repositoryOf } from './read-tools.js'
import type { AskInput } from './schemas.js'
import type { McpCall } from './session.js'
import { knowsTasks, taskResult } from './tasks.js'

/** A client that knows tasks gets one when the answer takes longer. */
const taskAfterMs = 20_000
/** Many clients give a tool 60 seconds. */
const patienceMs = 50_000

export async function askQuestion(call: McpCall, input: AskInput, context: ServerContext): Promise<CallToolResult> {
  const { app, caller, work, client, signal, emit } = call
  const found = await findQuestion(await readQuestion(work, app, caller, bodyOf(input)), signal, emit)
  const times = divideTime(work.deadline, Date.now())
  const tasks = knowsTasks(context)
  const answerBy = Math.min(times.answerBy, Date.now() + (tasks ? taskAfterMs : patienceMs))
  const inTime = await answerInTime(found, { ...times, answerBy }, client)
  if ('answer' in inTime) return answerResult(call, inTime.answer)
  return tasks ? taskResult(found.question, inTime.acceptedAt) : stillRunning(found, inTime.acceptedAt)
}

function bodyOf({ question, ref, compareWith, thread, model, depth, ...input }: AskInput): AskBody {
  return {
    repository: repositoryOf(input),
    name: parseRunName(ref ?? 'HEAD'),
    question,
    fresh: false,
    comment: false,
    ...(compareWith === undefined ? {} : { compareWith: parseRunName(compareWith) }),
    thread,
    model,
    depth,
  }
}

function stillRunning({ question }: Found, acceptedAt: string): CallToolResult {
  const { id, run, request } = question
  const view = pendingView(run, { id, acceptedAt, question: request.question.text }, 'running')
  return {
    content: [
      {
        type: 'text',
        text: 'The question is still being answered. Call ask_question again with the same arguments: it waits for the same answer.',
      },
    ],
    structuredContent: view,
  }
}

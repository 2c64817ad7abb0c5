// Posts an answer as a comment on a pull request. A marker in the comment keeps a repeated post from creating a second one.
import * as product from '../handoff/index.js'
import type { App } from './app.js'
import { placeOf } from './http/responses.js'

export async function postOnPull(
  app: App,
  { redact, ports }: product.AppContext,
  { record, run, reused, corrections = [] }: product.AnswerResult,
  pull: number,
  signal: AbortSignal,
): Promise<{ url: string }> {
  const github = await app.github()
  const { repository } = run.handoff
  const place = placeOf(app.settings.github, run.handoff)
  const onNotice = (text: string) => ports.emit({ type: 'notice', text })
  const commenting = { github, redact, place, signal, repository, about: { pull }, onNotice }
  const text = await product.answerComment(commenting, { record, reused, corrections })
  const marker = product.writeAnswerMarker(record)
  const body = `${marker}\n${text}`
  const thread = { kind: 'issue' as const, repository, number: pull }
  const { comment } = await github.ensureComment(thread, { marker, body }, { signal })
  const { kind, id, url } = comment
  if (comment.body !== body) await github.updateComment({ kind, repository, id }, body, { signal })
  return { url }
}

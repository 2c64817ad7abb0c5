// What a job learns of an answer: outputs, a file, the log and the job summary.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answerData, answerMarkdown, cutText, fitMarkdown } from '../handoff/index.js'
import { type Job, linkPlace } from './job-context.js'
import type { Reply } from './runs-for-question.js'

/** In characters. A job's outputs may have a megabyte together, counted as UTF-16; answer and citations are the two that grow. */
const longestOutput = 250_000

const restInFile = '[cut; the whole answer is in answer-file]'

export async function tellAnswer(job: Job, reply: Reply): Promise<void> {
  const { runner, context, redact } = job
  const { record } = reply
  const place = linkPlace(job)
  const data = answerData(record, place)
  const folder = join(context.temporary, `handoff-${record.run}`)
  await mkdir(folder, { recursive: true })
  const file = join(folder, `answer-${record.id}.md`)
  const text = redact(data.text)
  await writeFile(file, redact(answerMarkdown(record, place, { form: 'file' })))
  runner.setOutput('answer', text.length > longestOutput ? `${cutText(text, longestOutput)}\n${restInFile}` : text)
  runner.setOutput('answer-file', file)
  runner.setOutput('answer-id', record.id)
  const citations = redact(JSON.stringify(data.citations))
  runner.setOutput('citations', citations.length > longestOutput ? '[]' : citations)
  runner.setOutput('run', record.run)
  runner.setOutput('commit', record.commit)
  runner.setOutput('reused', String(reply.reused))
  runner.setOutput('model', record.model)
  runner.setOutput('tokens', String(record.usage.inputTokens + record.usage.outputTokens))
  runner.setOutput('cost', record.cost === undefined ? '' : record.cost.amount.toFixed(6))
  runner.setOutput('sandbox', record.sandbox?.id ?? '')
  for (const note of reply.notes) runner.remark(redact(note))
  runner.printUntrusted('The answer', text)
  const { reused, notes, corrections = [] } = reply
  const markdown = answerMarkdown(record, place, { form: 'job-summary', reused, notes, corrections })
  await runner.writeJobSummary(fitMarkdown(redact(markdown)))
}

// What a summary and an answer cost: tokens that the demo counted, times the prices of the table.
import { costOf, exampleModel } from '../handoff/domain/model-prices.js'
import { costText, demoTokens } from './measured-figures.js'

const models = [exampleModel, 'gpt-5.4-mini', 'claude-sonnet-5-5']

/** Names stand without code marks: documents recommend one model only. */
export function costTable(): string {
  const rows = models.map((model) => {
    const label = model === exampleModel ? `\`${model}\`` : model
    return `| ${label} | ${dollars(demoTokens.summary, model)} | ${dollars(demoTokens.answer, model)} |`
  })
  return ['| model | first summary | answer |', '| --- | --- | --- |', ...rows, '', costText()].join('\n')
}

function dollars(usage: { inputTokens: number; outputTokens: number }, model: string): string {
  // A summary is many requests, each far below the length at which some models cost more.
  const input = costOf({ inputTokens: 100_000, outputTokens: 0 }, model)
  const output = costOf({ inputTokens: 0, outputTokens: usage.outputTokens }, model)
  if (!input || !output) throw new Error(`The price table has no ${model}.`)
  const amount = (input.amount * usage.inputTokens) / 100_000 + output.amount
  return `$${amount.toFixed(amount < 0.01 ? 4 : 2)}`
}

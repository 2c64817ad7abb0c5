// The model that documents and examples name: one, in one place, and one that its service still has.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { environmentExample, withExampleModel } from '../../src/build/generate-docs.js'
import { exampleModel, type ModelRow, modelRow, modelTable } from '../../src/handoff/domain/model-prices.js'

const root = join(import.meta.dirname, '../..')

const day = 24 * 60 * 60 * 1_000
const daysBetween = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / day)

/** Services give notice of three months or more, so a row that was read this long ago may miss an end that is near. */
const lookAgainDays = 180
const warningDays = 60

/** What a maintainer must do about the model that the documents name. Undefined when there is nothing to do. */
function reminder(row: ModelRow | undefined, today: string): string | undefined {
  const change =
    'Choose another model in exampleModel (src/handoff/domain/model-prices.ts), give it a row, and run `npm run build`.'
  if (row === undefined) return `The model that documents name has no row in the price table. ${change}`
  const { model, ends, date } = row
  if (ends !== undefined && daysBetween(today, ends) <= warningDays) return `${model} shuts down on ${ends}. ${change}`
  if (daysBetween(date, today) <= lookAgainDays) return undefined
  return `The row of ${model} was read on ${date}. Read its service's pages on prices and deprecations again, correct the row, and write today's date in it.`
}

describe('the model that documents name', () => {
  it('does not end within 60 days, and was looked up within 180', () => {
    expect(reminder(modelRow(exampleModel), new Date().toISOString().slice(0, 10))).toBeUndefined()
  })

  it('is asked about in time', () => {
    const row = modelRow(exampleModel)!
    expect(reminder({ ...row, date: '2026-11-19', ends: '2027-06-01' }, '2027-04-01')).toBeUndefined()
    expect(reminder({ ...row, date: '2026-11-19', ends: '2027-06-01' }, '2027-04-02')).toContain(
      'shuts down on 2027-06-01',
    )
    expect(reminder({ ...row, date: '2026-11-19' }, '2027-05-18')).toBeUndefined()
    expect(reminder({ ...row, date: '2026-11-19' }, '2027-05-19')).toContain('was read on 2026-11-19')
    expect(reminder(modelRow('gpt-5-mini'), '2026-11-19')).toContain('gpt-5-mini shuts down on 2026-12-11')
    expect(reminder(undefined, '2026-11-19')).toContain('has no row')
  })

  it('is written into workflows and settings in the place of another one of OpenAI', () => {
    const text = 'llm-model: gpt-5-mini # cheap\nLLM_MODEL=gpt-4o-2024-08-06\nllm-model: qwen3-coder-30b\n'
    expect(withExampleModel(text)).toBe(
      `llm-model: ${exampleModel} # cheap\nLLM_MODEL=${exampleModel}\nllm-model: qwen3-coder-30b\n`,
    )
    expect(environmentExample()).toContain(exampleModel)
  })
})

/** What a stranger reads and copies. The record of what changed names models of its day. */
const documents = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => !/(^|\/)(node_modules|dist|\.git)\/|^CHANGELOG\.md$/.test(path))
  .filter((path) => /\.md$|^action\.yml$|^examples\/|^\.env\.example$|^\.github\/workflows\/|^vercel\.json$/.test(path))

describe('documents and examples', () => {
  it.each(documents.filter((path) => !path.endsWith('/')))(
    '%s names no other model of the table, and none that ended',
    (path) => {
      const text = readFileSync(join(root, path), 'utf8')
      const named = [...text.matchAll(/(?:llm-model: *|LLM_MODEL=|`)([\w./-]+)/g)].map((match) => match[1]!)
      const others = modelTable.map((row) => row.model).filter((model) => model !== exampleModel)
      expect(named.filter((name) => others.includes(name))).toEqual([])
      const shutDown =
        /\b(gpt-3\.5[\w-]*|gpt-4(-turbo)?|gpt-4\.1-nano|o1(-pro)?|o3-mini|o4-mini|deepseek-(chat|reasoner))\b(?![.\w-])/g
      expect(text.match(shutDown)).toBeNull()
    },
  )

  it('name the model at all', () => {
    const naming = documents.filter((path) => readFileSync(join(root, path), 'utf8').includes(exampleModel))
    expect(naming).toEqual(expect.arrayContaining(['.env.example', 'examples/push-summary.yml', 'docs/action.md']))
  })
})

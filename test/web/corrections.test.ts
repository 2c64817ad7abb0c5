// Corrections on the page: each behind the sentence that it is about, the others above the answer, all of them in a list below the summary.
import { expect, test } from 'vitest'
import type { ShownCorrection } from '../../src/handoff/domain/corrections/correction.js'
import { correctionData, showCorrections } from '../../src/handoff/domain/corrections/render-corrections.js'
import { parseDocument } from '../../src/handoff/domain/markdown/parse-document.js'
import { summaryBlocks } from '../../src/handoff/domain/summary/summary-blocks.js'
import { answerText, commit, question, repository, someAnswer, summary } from './content.js'
import { accessible, answered, ask, enter, newest, runAddress, useDesk } from './kit.js'

const desk = useDesk()
const place = { host: 'github.com', repository }
const id = String(someAnswer()['id'])

const correction = (text: string, more: Partial<ShownCorrection> = {}): ShownCorrection => ({
  id: 'issue-7',
  at: '2026-11-18T10:00:00.000Z',
  by: 'wanda',
  text,
  commit,
  places: [{ path: 'src/token.ts', from: 7, to: 7 }],
  ...more,
})
const ninety = correction('It is **ninety** minutes since May, see src/token.ts:7.', { answer: id })
const general = correction('<img src=x onerror=alert(1)> It is being [rewritten](https://evil.example).', {
  answer: id,
})
const ofSummary = correction('The limit of src/token.ts:7 is in the settings.')

/** As the service sends them. */
function correctedAnswer(...corrections: ShownCorrection[]) {
  const { citations } = someAnswer() as { citations: { label: string }[] }
  const options = {
    citations: citations.map(({ label }) => label),
    repository: { host: 'github.com', path: repository },
  }
  return someAnswer({
    blocks: parseDocument(showCorrections(answerText, corrections, place), options),
    corrections: corrections.map((one) => correctionData(one, place)),
  })
}

test('a correction of an answer stands behind its sentence, and one that names no lines above the words', async () => {
  desk.service.script.play = async ({ send }) => send('answer', correctedAnswer(ninety, general))
  const page = await desk.visitRun()
  await ask(page, question)
  await answered(page)
  const words = newest(page).locator('.words')
  expect(await words.locator('> p').first().innerText()).toBe(
    'A token that is younger than an hour is returned as it is 1. (Correction by wanda, 2026-11-18: It is **ninety** minutes since May, see src/token.ts:7.)',
  )
  expect(await words.locator('> :first-child').evaluate((node) => node.nodeName)).toBe('BLOCKQUOTE')
  const above = words.locator('> blockquote')
  expect(await above.innerText()).toMatch(
    /^Correction by wanda, 2026-11-18: .*It is being .*rewritten.* src\/token\.ts:7$/,
  )
  expect(await words.locator('img, a[href*="evil"]').count()).toBe(0)
  await accessible(page, 'an answer with corrections')

  desk.service.script.play = async ({ send }) => send('answer', correctedAnswer())
  await ask(page, question)
  await expect.poll(() => page.locator('#answers').getByText('Correction').count()).toBe(0)
})

test('a correction of the summary stands behind its sentence, and all of a run are listed with person, day and lines', async () => {
  const { script } = desk.service
  script.summaryBlocks = summaryBlocks(summary, commit, place, [ofSummary])
  script.runs[0] = { ...script.runs[0], corrections: [ofSummary, ninety].map((one) => correctionData(one, place)) }
  const page = await desk.visit(runAddress)
  await enter(page)
  await page.getByRole('heading', { name: 'Where to start reading' }).waitFor()
  expect(await page.locator('#summary > p').first().innerText()).toContain(
    '(src/token.ts:4-9 (Correction by wanda, 2026-11-18: The limit of src/token.ts:7 is in the settings.))',
  )
  const list = page.locator('#summary .corrections')
  expect(await list.getByRole('listitem').allInnerTexts()).toEqual([
    'wanda, 2026-11-18: The limit of src/token.ts:7 is in the settings. src/token.ts:7',
    'wanda, 2026-11-18: It is **ninety** minutes since May, see src/token.ts:7. src/token.ts:7',
  ])
  expect(await list.getByRole('link', { name: 'src/token.ts:7' }).first().getAttribute('href')).toBe(
    `https://github.com/octo/tools/blob/${commit}/src/token.ts#L7`,
  )
  await accessible(page, 'a summary with corrections')
})

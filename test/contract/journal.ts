// What every journal must do. Runs against the local server always, and against a real one when its address and key are given.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Journal, JournalEntry } from '../../src/handoff/domain/ports.js'

export interface JournalUnderTest {
  journal: Journal
  close(): Promise<void>
}

const signal = AbortSignal.timeout(120_000)

export function journalContract(title: string, open: () => Promise<JournalUnderTest>): void {
  describe(title, () => {
    let held: JournalUnderTest
    beforeAll(async () => {
      held = await open()
    })
    afterAll(() => held?.close())

    const fresh = () => ({ id: `handoff-test-${randomUUID()}`, title: 'github.com/octo/test' })
    const entry = (word: string) => ({
      type: 'answer',
      actor: { type: 'asker', id: 'ann' },
      subjects: [`answer:${word}`, 'commit:1'],
      summary: { word, cost: { amount: 0.0123, currency: 'USD' }, text: '<b> & “é” 漢' },
    })
    const entriesOf = async (id: string) => {
      const found: JournalEntry[] = []
      for await (const one of held.journal.entries(id, signal)) found.push(one)
      return found
    }

    test('a journal that is not there has no entries and no verdict', async () => {
      const { id } = fresh()
      expect(await entriesOf(id)).toEqual([])
      expect(await held.journal.verify(id, signal)).toBeUndefined()
    })

    test('entries are kept in order, each with the hash of the one before', async () => {
      const place = fresh()
      expect(await held.journal.append(place, 'first', [entry('one'), entry('two')], signal)).toBe(true)
      expect(await held.journal.append(place, 'second', [entry('three')], signal)).toBe(true)
      const found = await entriesOf(place.id)
      expect(found.map(({ seq, type, actor, summary }) => ({ seq, type, actor, word: summary['word'] }))).toEqual([
        { seq: 1, type: 'answer', actor: 'ann', word: 'one' },
        { seq: 2, type: 'answer', actor: 'ann', word: 'two' },
        { seq: 3, type: 'answer', actor: 'ann', word: 'three' },
      ])
      expect(found[0]!.summary).toEqual(entry('one').summary)
      expect(found.slice(1).map(({ previousHash }) => previousHash)).toEqual(found.slice(0, 2).map(({ hash }) => hash))
      expect(await held.journal.verify(place.id, signal)).toEqual({ ok: true, entries: 3, headHash: found[2]!.hash })
    })

    test('the same entries under the same key are appended once', async () => {
      const place = fresh()
      await held.journal.append(place, 'key', [entry('one')], signal)
      await held.journal.append(place, 'key', [entry('one')], signal)
      expect(await entriesOf(place.id)).toHaveLength(1)
    })

    test('other entries under a key that was used are refused', async () => {
      const place = fresh()
      await held.journal.append(place, 'key', [entry('one')], signal)
      await expect(held.journal.append(place, 'key', [entry('two')], signal)).rejects.toMatchObject({
        code: 'conflict',
      })
    })

    test('more entries than one page are all listed', async () => {
      const place = fresh()
      for (const half of [0, 1, 2]) {
        const batch = Array.from({ length: 400 }, (_, index) => entry(`${half}-${index}`))
        await held.journal.append(place, `batch-${half}`, batch, signal)
      }
      expect((await entriesOf(place.id)).map(({ seq }) => seq)).toEqual(Array.from({ length: 1_200 }, (_, n) => n + 1))
    })
  })
}

// Shows a correction to a model: as data of a named person.
import { citationLabel } from '../citations/citation-label.js'
import { cleanText } from '../markdown/clean-text.js'
import { pathText, textBlock } from '../prompt-blocks.js'
import type { Correction } from './correction.js'

const mostPlaces = 10

export function correctionBlock({ by, at, text, places }: Correction): string {
  const labels = places.slice(0, mostPlaces).map(({ path, from, to }) => citationLabel({ path, from, to }))
  return textBlock(`correction by ${pathText(by)} on ${at.slice(0, 10)}`, [
    `about ${labels.join(', ')}`,
    ...cleanText(text).split('\n'),
  ])
}

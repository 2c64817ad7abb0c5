// How the page writes the place of a citation.
import type { Citation } from './api-types.js'
import { plainName } from './format.js'

export function lineRange({ from, to }: Citation): string {
  return from === to ? `line ${from}` : `lines ${from} to ${to}`
}

export const placeOf = ({ path, from, to }: Citation) => `${plainName(path)}:${from === to ? from : `${from}-${to}`}`

// What people said about an answer or a summary: a plain list, with the person, the day and the lines.
import type { Correction } from './api-types.js'
import { type Child, element, outsideLink } from './dom.js'
import { exactTime, plainName, withoutBidi } from './format.js'
import type { CheckLink } from './links.js'

export function correctionList(corrections: readonly Correction[] | undefined, link: CheckLink): Child {
  if (corrections === undefined || corrections.length === 0) return undefined
  const items = corrections.map(({ by, at, text, places }) => {
    const lines = places.map(({ label, url }) => placeLink(label, url, link))
    const time = element('time', { datetime: at, title: exactTime(at) }, at.slice(0, 10))
    return element('li', {}, element('strong', {}, plainName(by)), ', ', time, `: ${withoutBidi(text)} `, ...lines)
  })
  return element('section', { class: 'corrections' }, element('h2', {}, 'Corrections'), element('ul', {}, items))
}

function placeLink(label: string, url: string | null, link: CheckLink): Child {
  const address = url === null ? undefined : link(url)
  const text = element('code', {}, plainName(label))
  return address === undefined ? text : outsideLink(address, {}, text)
}

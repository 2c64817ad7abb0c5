// Makes the page's nodes. Everything that is shown goes through here as text or as attributes from our own code: no markup is ever parsed.

/**
 * `class`, `on` (listeners by event), and attributes; `true` sets an attribute without a value, `null`, `undefined` and `false` leave it out.
 * Children are nodes, texts, or nothing.
 */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (key === 'on') for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener)
    else if (value === true) made.setAttribute(key, '')
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(key, String(value))
  }
  append(made, children)
  return made
}

export function fill(parent, ...children) {
  parent.replaceChildren()
  append(parent, children)
  return parent
}

/** One by one: a long text has more nodes than a call can have arguments. */
function append(parent, children) {
  for (const child of children.flat())
    if (child !== undefined && child !== null && child !== false) parent.append(child)
}

export const find = (id) => document.getElementById(id)

/** A link that leaves the page: it tells the other side nothing and gives it no hold on this page. */
export function outsideLink(url, properties, ...children) {
  return element(
    'a',
    { ...properties, href: url, target: '_blank', rel: 'noopener noreferrer', referrerpolicy: 'no-referrer' },
    ...children,
  )
}

/** Moves the reader's place to something that is not a control, such as a heading. */
export function focusOn(target) {
  if (!target.hasAttribute('tabindex')) target.setAttribute('tabindex', '-1')
  target.focus()
}

let lastId = 0
export const freshId = (prefix) => `${prefix}-${++lastId}`

// Creates the page's nodes. Content becomes text nodes and attributes that our own code names; no markup is ever parsed.

type Attribute = string | number | boolean | null | undefined
export type Properties = Record<string, Attribute>
export type Child = Node | string | number | boolean | null | undefined

/** `true` sets an attribute without a value; `false`, `null` and `undefined` leave it out. A child that is no node, text or number is left out. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (value === true) made.setAttribute(key, '')
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(key, String(value))
  }
  append(made, children)
  return made
}

/** A button that does not submit a form. */
export function button(text: string, properties: Properties, onClick: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', ...properties }, text)
  made.addEventListener('click', onClick)
  return made
}

/** Replaces everything inside. */
export function fill<Parent extends Element>(parent: Parent, ...children: (Child | Child[])[]): Parent {
  parent.replaceChildren()
  append(parent, children)
  return parent
}

/** One by one: a long text has more nodes than a call can have arguments. */
function append(parent: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === undefined || child === null || typeof child === 'boolean') continue
    parent.append(typeof child === 'number' ? String(child) : child)
  }
}

/** An element of index.html. The caller names its type. */
export function find<Type extends HTMLElement = HTMLElement>(id: string): Type {
  return document.getElementById(id) as Type
}

/** A link that leaves the page: the other side learns nothing of this page and gets no hold on it. */
export function outsideLink(url: string, properties: Properties, ...children: Child[]): HTMLAnchorElement {
  return element(
    'a',
    { ...properties, href: url, target: '_blank', rel: 'noopener noreferrer', referrerpolicy: 'no-referrer' },
    ...children,
  )
}

/** Moves the focus to an element that is not a control, such as a heading. */
export function focusOn(target: HTMLElement): void {
  if (!target.hasAttribute('tabindex')) target.setAttribute('tabindex', '-1')
  target.focus()
}

let lastId = 0
export const uniqueId = (prefix: string) => `${prefix}-${++lastId}`

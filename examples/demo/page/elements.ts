/** Returns the element of index.html with this id. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  return present(document.getElementById(id) as E | null, `#${id}`)
}

/** Returns a copy of a template's single element. */
export function copyOf(templateId: string): HTMLElement {
  const { content } = byId<HTMLTemplateElement>(templateId)
  const element = present(content.firstElementChild as HTMLElement | null, `#${templateId}`)
  return element.cloneNode(true) as HTMLElement
}

/** Returns the element of a copied template with this `data-part`. */
export function part<E extends HTMLElement = HTMLElement>(element: HTMLElement, name: string): E {
  return present(element.querySelector<E>(`[data-part="${name}"]`), name)
}

function present<E>(element: E | null, name: string): E {
  if (!element) throw new Error(`index.html has no ${name}`)
  return element
}

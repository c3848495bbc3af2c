/** Listens to an event of the page, if there is one. Returns a function that ends it: browsers of 2020 ignore the option `signal`. */
export function onPage(event: string, listener: () => void): () => void {
  const { addEventListener, removeEventListener } = globalThis
  if (typeof addEventListener !== 'function') return () => {}
  addEventListener(event, listener)
  return () => removeEventListener(event, listener)
}

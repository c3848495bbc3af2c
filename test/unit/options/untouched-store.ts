/** Returns the same object, whose methods report each call. Stays the object itself, because jobs know stores and servers by identity. */
export function around<Target extends object>(target: Target, onCall: () => void): Target {
  for (const [name, method] of Object.entries(target) as [string, unknown][]) {
    if (typeof method !== 'function') continue
    const counted = (...args: unknown[]): unknown => {
      onCall()
      return Reflect.apply(method, target, args)
    }
    Reflect.set(target, name, counted)
  }
  return target
}

import type { ObjectReference, OwnedReference } from '../../core/store/records.js'

/** How many objects of an owner wait, and of how many owners. The events of further objects are left to a job. */
const MAX_OBJECTS = 100
const MAX_OWNERS = 100

/** Changed objects that wait for a handler. Their owners take turns, so one who changes many holds up no other. */
export class WaitingObjects {
  readonly #owners = new Map<string, Map<string, ObjectReference>>()

  add(name: string, { scope, bucket, key }: OwnedReference): void {
    const objects = this.#owners.get(scope) ?? new Map<string, ObjectReference>()
    if (objects.size === MAX_OBJECTS || (objects.size === 0 && this.#owners.size === MAX_OWNERS)) return
    this.#owners.set(scope, objects.set(name, { bucket, key }))
  }

  /** Takes the object that has waited longest, of the owner whose turn it is. Moves that owner to the end. */
  take(): readonly [name: string, object: ObjectReference] | null {
    for (const [scope, objects] of this.#owners) {
      const [first] = objects
      this.#owners.delete(scope)
      objects.delete(first![0])
      if (objects.size > 0) this.#owners.set(scope, objects)
      return first!
    }
    return null
  }
}

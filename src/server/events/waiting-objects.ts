import type { OwnedReference } from '../../core/store/records.js'

/** How many objects of an owner wait, and of how many owners. The events of further objects are left to a job. */
const MAX_OBJECTS = 100
const MAX_OWNERS = 100

/** An object whose events are delivered. */
export interface ChangedObject extends OwnedReference {
  /** Whether one of its events was delivered since it changed. */
  readonly isServed: boolean
}

/** Changed objects that wait for a handler. Their owners take turns, so one who changes many holds up no other. */
export class WaitingObjects {
  readonly #owners = new Map<string, Map<string, ChangedObject>>()

  add(name: string, object: ChangedObject): void {
    const objects = this.#owners.get(object.scope)
    const isFull = objects ? objects.size >= MAX_OBJECTS : this.#owners.size >= MAX_OWNERS
    if (!isFull) this.addAgain(name, object)
  }

  /** Adds an object that has just had a place. There are only as many of these as places. */
  addAgain(name: string, object: ChangedObject): void {
    const objects = this.#owners.get(object.scope) ?? new Map<string, ChangedObject>()
    this.#owners.set(object.scope, objects.set(name, object))
  }

  /** Takes the object that has waited longest, of the owner whose turn it is. Moves that owner to the end. */
  take(): readonly [name: string, object: ChangedObject] | null {
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

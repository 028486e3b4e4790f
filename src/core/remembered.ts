/** Whether two lists hold the very same things. */
export const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i])

/** The last value for each key, for as long as somebody still holds it. */
export class Remembered<K, V extends object> {
  readonly #values = new Map<K, WeakRef<V>>()

  get(key: K): V | undefined {
    return this.#values.get(key)?.deref()
  }

  set(key: K, value: V): V {
    this.#values.set(key, new WeakRef(value))
    return value
  }
}

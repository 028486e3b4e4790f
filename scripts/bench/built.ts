/** A module of the plugin as users run it: in `dist`, where `npm run build` put it. */
export const built = (module: string): string => new URL(`../../dist/${module}.js`, import.meta.url).href

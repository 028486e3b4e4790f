export default {
  id: "other",
  server: async () => ({
    config: async (config) => {
      config.agent = { ...config.agent, build: { permission: { skill: { pdf: "deny" } } } }
    },
  }),
}

"""Ways found by random motions in a physics engine, where the model of trees promises what physics refuses."""
